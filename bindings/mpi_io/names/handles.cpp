#include "mpi_io/names/handles.hpp"

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace penstock::dropin {
namespace {

/// Never deleted, but reused, so that a closed handle can be told from an open one.
struct HandleEntry {
  std::uint64_t mark = 0;
  int index = 0;
  std::shared_ptr<MpiFile> file;
};
constexpr std::uint64_t open_mark = 0x70656e73746f636bULL;
/// Fortran's numbers begin above all values that MPI libraries use for MPI_FILE_NULL.
constexpr int first_index = 4096;

class HandleTable {
 public:
  HandleEntry* take(std::shared_ptr<MpiFile> file) {
    const std::lock_guard guard(mutex_);
    if (free_.empty()) {
      entries_.push_back({0, first_index + static_cast<int>(entries_.size()), nullptr});
      free_.push_back(&entries_.back());
    }
    HandleEntry* const entry = free_.back();
    free_.pop_back();
    entry->file = std::move(file);
    entry->mark = open_mark;
    return entry;
  }
  void give(HandleEntry* entry) {
    const std::lock_guard guard(mutex_);
    entry->mark = 0;
    entry->file.reset();
    free_.push_back(entry);
  }
  HandleEntry* at(int index) {
    const std::lock_guard guard(mutex_);
    const int place = index - first_index;
    const bool there = place >= 0 && static_cast<std::size_t>(place) < entries_.size();
    return there ? &entries_[static_cast<std::size_t>(place)] : nullptr;
  }
  static HandleTable& of_process() {
    static auto* const table = new HandleTable;
    return *table;
  }

 private:
  std::mutex mutex_;
  std::deque<HandleEntry> entries_;
  std::vector<HandleEntry*> free_;
};

HandleEntry* entry_of(MPI_File handle) noexcept {
  if (handle == MPI_FILE_NULL || handle == nullptr) return nullptr;
  auto* const entry = reinterpret_cast<HandleEntry*>(handle);
  return reinterpret_cast<std::uintptr_t>(entry) % alignof(HandleEntry) == 0 &&
                 reinterpret_cast<std::uintptr_t>(entry) > 65536 && entry->mark == open_mark
             ? entry
             : nullptr;
}

int null_index() noexcept {
  // In the standard ABI handles are numbers; in other libraries it is 0 for Fortran.
  const auto value = reinterpret_cast<std::uintptr_t>(MPI_FILE_NULL);
  return value < first_index ? static_cast<int>(value) : 0;
}

}  // namespace

MPI_File make_handle(std::shared_ptr<MpiFile> file) {
  return reinterpret_cast<MPI_File>(HandleTable::of_process().take(std::move(file)));
}

std::shared_ptr<MpiFile> file_of(MPI_File handle) noexcept {
  HandleEntry* const entry = entry_of(handle);
  return entry != nullptr ? entry->file : nullptr;
}

void free_handle(MPI_File handle) noexcept {
  if (HandleEntry* const entry = entry_of(handle)) HandleTable::of_process().give(entry);
}

int to_fortran(MPI_File handle) noexcept {
  HandleEntry* const entry = entry_of(handle);
  return entry != nullptr ? entry->index : null_index();
}

MPI_File from_fortran(int index) noexcept {
  HandleEntry* const entry = HandleTable::of_process().at(index);
  return entry != nullptr ? reinterpret_cast<MPI_File>(entry) : MPI_FILE_NULL;
}

}  // namespace penstock::dropin
