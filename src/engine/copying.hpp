// How a call uses the active buffer, and which threads it holds back meanwhile.
#pragma once

#include <cstdint>
#include "background/background_io.hpp"
#include "mpi/team.hpp"

namespace penstock {

/// This rank is copying, and storage would need a core as well (page cache). While one exists, the
/// I/O threads of this rank are throttled, and those of its node wait before a unit (let_copy).
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
  std::int64_t budget = 0;     // bytes; 0: does not use it
  std::int64_t operation = 0;  // the number of the write in this file
  bool cached = false;         // storage is the page cache, and as fast as a buffer
  Placement placement;
  IoTicket last = 0;  // the newest unit
};

}  // namespace penstock
