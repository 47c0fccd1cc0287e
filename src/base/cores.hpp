// Cores: what a process may compute on, by its affinity mask and by the quota of its control group.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace penstock {

/// Plain bytes: processes of one machine tell each other theirs.
class Cores {
 public:
  /// Of this process, counted once.
  static const Cores& own();
  /// `quota`: processor time per time, 0 for no limit.
  Cores(std::uint64_t mask, double quota) : quota_(quota) { mask_[0] = mask; }
  Cores() = default;

  /// Adds those of another process. Processes that are bound to different cores have all of them;
  /// a quota is taken to be that of one group of processes.
  void join(const Cores& other) noexcept;
  /// At least 1. A part of a core counts as one.
  int count() const noexcept;

 private:
  static Cores find();
  static constexpr int most = 1024;
  std::array<std::uint64_t, most / 64> mask_{};
  double quota_ = 0;
};

/// The least quota of the control groups that the process is in, of version 1 or 2; 0: none.
/// `root`: where the file system begins.
double find_quota(const std::string& root = "");

}  // namespace penstock
