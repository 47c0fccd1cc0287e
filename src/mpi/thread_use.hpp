// MpiUse: which thread of this process calls MPI for a file. With MPI_THREAD_MULTIPLE any may;
// below that one at a time, and a second one must be kept from calling MPI.
#pragma once

#include <optional>
#include <string>

namespace penstock {

/// The name of a thread level, as "MPI_THREAD_SERIALIZED".
std::string thread_level_name(int level);

/// While one exists, its thread calls no MPI: below MPI_THREAD_MULTIPLE the program's own thread
/// may be in an MPI call at any time. What needs MPI is left to that thread.
class WithoutMpi {
 public:
  WithoutMpi() noexcept { ++here_; }
  WithoutMpi(const WithoutMpi&) = delete;
  ~WithoutMpi() { --here_; }
  static bool here() noexcept { return here_ > 0; }

 private:
  static inline thread_local int here_ = 0;
};

class MpiUse {
 public:
  enum class Otherwise { throws, waits };

  /// If another thread is in an MPI call for a file, and MPI does not allow two: throws
  /// Error(state) that names `path`, or waits for that thread's call.
  explicit MpiUse(const std::string& path, Otherwise otherwise = Otherwise::throws);
  /// Returns nothing in that case.
  static std::optional<MpiUse> attempt();
  MpiUse(MpiUse&& other) noexcept;
  MpiUse& operator=(MpiUse&&) = delete;
  ~MpiUse();

 private:
  struct Counted {
    bool counted;
  };
  explicit MpiUse(Counted use) noexcept : counted_(use.counted) {}

  bool counted_;  // MPI allows one thread at a time
};

}  // namespace penstock
