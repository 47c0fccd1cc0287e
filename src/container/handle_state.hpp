// Handles of what has begun on an open file.
#pragma once

#include <memory>

#include <penstock/handle.hpp>

#include "file/byte_file.hpp"

namespace penstock {

/// `owner`: who keeps the file.
Handle handle_of(std::shared_ptr<void> owner, ByteFile& file,
                 std::shared_ptr<ByteFile::Begun> begun);
/// Of a close that has begun.
Handle handle_of_close(std::shared_ptr<void> owner, ByteFile& file);

}  // namespace penstock
