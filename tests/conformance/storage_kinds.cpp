#include "storage_kinds.hpp"

#include "storage/fault.hpp"
#include "storage/paced.hpp"
#include "support/counted.hpp"

namespace penstock::test {
namespace {

// A fault that never occurs: without any the adapter would return the inner storage.
constexpr const char* no_fault = "read@1000000=EIO";
StorageCounts ignored_counts;

std::unique_ptr<Storage> open_file(const std::string& path, std::string* = nullptr) {
  return open_posix(path, OpenFlag::create);
}

/// Fast, but running all of the model's code.
std::unique_ptr<Storage> at_pace(std::unique_ptr<Storage> inner) {
  const Pace pace = Pace::parse("bandwidth=4G,latency=10us,writers=1,slowdown=0.1,variance=0.5");
  return keep_pace(std::move(inner), pace, std::make_shared<PaceClock>(), 0);
}

constexpr Kind kinds[] = {
    {"posix", open_file, true},
    {"memory", [](const std::string& path, std::string*) { return make_memory_storage(path); },
     false},
    {"count_over_posix",
     [](const std::string& path, std::string*) {
       return test::count(open_file(path), ignored_counts);
     },
     true},
    {"fault_over_memory",
     [](const std::string& path, std::string*) {
       return inject_faults(make_memory_storage(path), no_fault, 0);
     },
     false},
    {"fault_over_count_over_posix",
     [](const std::string& path, std::string*) {
       return inject_faults(test::count(open_file(path), ignored_counts), no_fault, 0);
     },
     true},
    {"paced_over_posix",
     [](const std::string& path, std::string*) { return at_pace(open_file(path)); }, true},
    {"paced_over_fault_over_memory",
     [](const std::string& path, std::string*) {
       return at_pace(inject_faults(make_memory_storage(path), no_fault, 0));
     },
     false},
    {"count_over_fault_over_uring",
     [](const std::string& path, std::string* notice) {
       auto ring = open_uring(path, OpenFlag::create, false, 3, notice);
       return test::count(inject_faults(std::move(ring), no_fault, 0), ignored_counts);
     },
     true},
    {"direct",
     [](const std::string& path, std::string* notice) {
       return open_direct(path, OpenFlag::create, notice);
     },
     true},
    {"uring",
     [](const std::string& path, std::string* notice) {
       return open_uring(path, OpenFlag::create, false, 4, notice);
     },
     true},
    {"uring_direct",
     [](const std::string& path, std::string* notice) {
       return open_uring(path, OpenFlag::create, true, 4, notice);
     },
     true},
};

}  // namespace

std::span<const Kind> all_kinds() {
  return kinds;
}

std::vector<Kind> sharing_kinds() {
  std::vector<Kind> sharing;
  for (const Kind& kind : all_kinds())
    if (kind.shares) sharing.push_back(kind);
  return sharing;
}

std::string name_of_kind(const testing::TestParamInfo<Kind>& info) {
  return info.param.name;
}

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

}  // namespace penstock::test
