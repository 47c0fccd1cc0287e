#include "base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

namespace penstock {
namespace {

double lesser(double quota, double other) {
  if (quota <= 0 || other <= 0) return std::max(quota, other);
  return std::min(quota, other);
}

/// cgroup version 2: "max 100000" or "150000 100000".
double quota_of_2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double time = 0, period = 0;
  return file >> time >> period && period > 0 ? time / period : 0;
}

/// cgroup version 1: a quota of -1 means none.
double quota_of_1(const std::string& folder) {
  std::ifstream quota(folder + "/cpu.cfs_quota_us"), length(folder + "/cpu.cfs_period_us");
  double time = 0, period = 0;
  return quota >> time && length >> period && time > 0 && period > 0 ? time / period : 0;
}

/// The least quota of a group and of those that contain it. In a container the path may be that of
/// the host, so that only the root exists.
template <class QuotaOf>
double least_quota(const std::string& root, std::string path, QuotaOf&& quota_of) {
  double least = quota_of(root);
  while (path.size() > 1) {
    least = lesser(least, quota_of(root + path));
    path.resize(path.rfind('/'));
  }
  return least;
}

bool lists_cpu(const std::string& controllers) {
  std::istringstream list(controllers);
  for (std::string one; std::getline(list, one, ',');)
    if (one == "cpu") return true;
  return false;
}

}  // namespace

/// Lines of /proc/self/cgroup: "0::/path" for version 2, "4:cpu,cpuacct:/path" for version 1.
double find_quota(const std::string& root) {
  const std::string groups = root + "/sys/fs/cgroup";
  double least = 0;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = lesser(least, least_quota(groups, path, quota_of_2));
    } else if (lists_cpu(controllers)) {
      least = lesser(least, least_quota(groups + "/cpu", path, quota_of_1));
      least = lesser(least, least_quota(groups + "/" + controllers, path, quota_of_1));
    }
  }
  return least;
}

const Cores& Cores::own() {
  static const Cores cores = find();
  return cores;
}

Cores Cores::find() {
  Cores cores;
  cores.quota_ = find_quota();
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;
  // The machine has more cores than the set can hold.
  const int all = static_cast<int>(std::min<unsigned>(most, std::thread::hardware_concurrency()));
  for (int core = 0; core < std::min<int>(most, CPU_SETSIZE); ++core)
    if (known ? CPU_ISSET(core, &set) != 0 : core < all)
      cores.mask_[static_cast<std::size_t>(core) / 64] |= std::uint64_t{1} << core % 64;
  return cores;
}

void Cores::join(const Cores& other) noexcept {
  for (std::size_t i = 0; i < mask_.size(); ++i) mask_[i] |= other.mask_[i];
  quota_ = std::max(quota_, other.quota_);
}

int Cores::count() const noexcept {
  int cores = 0;
  for (const std::uint64_t word : mask_) cores += std::popcount(word);
  if (quota_ > 0) cores = std::min(cores, static_cast<int>(std::ceil(quota_)));
  return std::max(1, cores);
}

}  // namespace penstock
