// A file that is made anew: its old content goes only when all that can fail has been done.
#pragma once

#include <string>

#include "formats/header.hpp"

namespace penstock {

constexpr bool makes_anew(Mode mode) noexcept {
  return mode == Mode::create || mode == Mode::create_new || mode == Mode::replace;
}

/// Gives the file the size of `described`, its header, and zeros everywhere else. Where that fails,
/// the file is as it was. Throws Error(storage).
void make_anew(Storage& storage, const std::string& path, const Described& described,
               std::int64_t end);

/// The same of a file that is new and empty.
void fill_new(Storage& storage, const std::string& path, const Described& described,
              std::int64_t end);

/// Makes the file long enough, and writes the header where `described` has a new one, behind what
/// is there. Where that fails, the file is as long as it was. Throws Error(storage).
void extend(Storage& storage, const std::string& path, const Described& described,
            std::int64_t end);

}  // namespace penstock
