// Recreating a file: its old content is removed only after everything that can fail.
#pragma once

#include <string>

#include "formats/header.hpp"

namespace penstock {

constexpr bool makes_anew(Mode mode) noexcept {
  return mode == Mode::create || mode == Mode::create_new || mode == Mode::replace;
}

/// Gives the file the size of `described`, its header, and zeros everywhere else. On failure the
/// file is unchanged. Throws Error(storage).
void make_anew(Storage& storage, const std::string& path, const Described& described,
               std::int64_t end);

/// The same for a file that is new and empty.
void fill_new(Storage& storage, const std::string& path, const Described& described,
              std::int64_t end);

/// Makes the file long enough, and writes the header, if `described` has a new one, after the data.
/// On failure the file keeps its length. Throws Error(storage).
void extend(Storage& storage, const std::string& path, const Described& described,
            std::int64_t end);

}  // namespace penstock
