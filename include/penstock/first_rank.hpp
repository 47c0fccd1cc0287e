// Tasks that rank 0 runs for all ranks, with a serial library.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <penstock/export.hpp>

namespace penstock {

/// A task for rank 0: for instance, making a dataset with another library, or finding out about
/// one.
struct FirstRankTask {
  /// What all ranks must pass alike: names, and values as text. Compared before anything is done.
  std::vector<std::pair<std::string, std::string>> common;
  /// Called on rank 0 alone; its result is sent to all ranks, its exception is thrown on all.
  std::function<std::string()> work;
  /// Whether the work may change the file; then a process that is one of several ranks must not
  /// open it alone.
  bool writes = false;
};

/// For a file that is opened in several steps, some of them by another library: the calls of this
/// thread while one exists are one open in a trace. Not collective.
class PENSTOCK_EXPORT OpeningSteps {
 public:
  explicit OpeningSteps(const std::filesystem::path& path);
  OpeningSteps(const OpeningSteps&) = delete;
  ~OpeningSteps();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
