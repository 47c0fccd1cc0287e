// Handles of operations on an open file.
#pragma once

#include <functional>
#include <memory>

#include <penstock/handle.hpp>

#include "file/byte_file.hpp"

namespace penstock {

/// `owner`: keeps the file alive. `at_end`: called once by wait(), when the operation has ended.
Handle handle_of(std::shared_ptr<void> owner, ByteFile& file,
                 std::shared_ptr<ByteFile::Begun> begun, std::function<void()> at_end = {});
/// For a close that has begun.
Handle handle_of_close(std::shared_ptr<void> owner, ByteFile& file);

}  // namespace penstock
