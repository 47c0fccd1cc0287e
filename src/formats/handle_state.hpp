// Handles of what has begun on an open file.
#pragma once

#include <functional>
#include <memory>

#include <penstock/handle.hpp>

#include "file/byte_file.hpp"

namespace penstock {

/// `owner`: who keeps the file. `at_end`: what wait() does, once, when the operation has ended.
Handle handle_of(std::shared_ptr<void> owner, ByteFile& file,
                 std::shared_ptr<ByteFile::Begun> begun, std::function<void()> at_end = {});
/// Of a close that has begun.
Handle handle_of_close(std::shared_ptr<void> owner, ByteFile& file);

}  // namespace penstock
