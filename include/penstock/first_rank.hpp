// What rank 0 does for all ranks, with a library that knows of no other ranks.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <penstock/export.hpp>

namespace penstock {

/// A call that rank 0 carries out: it makes a dataset with another library, or asks what is in one.
struct FirstRankTask {
  /// What all ranks must pass alike: names, and values as text. Compared before anything is done.
  std::vector<std::pair<std::string, std::string>> common;
  /// Called on rank 0 alone; what it returns is sent to all, what it throws is thrown on all.
  std::function<std::string()> work;
  /// Whether the work may change the file, which one of several ranks may not do alone.
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
