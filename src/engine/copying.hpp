// How a call uses the active buffer, and what it keeps from running meanwhile.
#pragma once

#include <cstdint>
#include "background/background_io.hpp"
#include "mpi/team.hpp"

namespace penstock {

/// This rank copies, and storage would need a core, too (the page cache): while one exists, the I/O
/// threads of this rank are throttled, and those of its node wait before a unit (let_copy).
class Copying {
 public:
  Copying(BackgroundIo& background, Team* team) : throttle_(background), team_(team) {
    if (team_ != nullptr) team_->begin_copying();
  }
  Copying(const Copying&) = delete;
  ~Copying() {
    if (team_ != nullptr) team_->end_copying();
  }

 private:
  BackgroundIo::Throttle throttle_;
  Team* team_;
};

/// How a call uses the active buffer.
struct Buffering {
  std::int64_t budget = 0;     // bytes; 0: not at all
  std::int64_t operation = 0;  // which write of the file it is
  bool cached = false;         // storage is the page cache, and as quick as a buffer
  Placement placement;
  IoTicket last = 0;  // its newest unit
};

}  // namespace penstock
