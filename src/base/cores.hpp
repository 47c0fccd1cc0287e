// Cores: the CPU cores a process may use, by its affinity mask and the quota of its control group.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace penstock {

/// Trivially copyable: processes of one machine exchange theirs.
class Cores {
 public:
  /// Of this process, determined once.
  static const Cores& own();
  /// `quota`: processor time per time, 0 for no limit.
  Cores(std::uint64_t mask, double quota) : quota_(quota) { mask_[0] = mask; }
  Cores() = default;

  /// Adds those of another process: the union of the masks. A quota is assumed to be shared by all
  /// processes.
  void join(const Cores& other) noexcept;
  /// At least 1. A fraction of a core counts as one.
  int count() const noexcept;

 private:
  static Cores find();
  static constexpr int most = 1024;
  std::array<std::uint64_t, most / 64> mask_{};
  double quota_ = 0;
};

/// The least quota of the control groups (version 1 or 2) that the process is in; 0: none. `root`:
/// prefix of the paths, for tests.
double find_quota(const std::string& root = "");

}  // namespace penstock
