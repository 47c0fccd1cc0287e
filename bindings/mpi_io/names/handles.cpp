#include "mpi_io/names/handles.hpp"

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace penstock::dropin {
namespace {

/// Never deleted, and used again: a handle that was closed is told from an open one.
struct Slot {
  std::uint64_t mark = 0;
  int index = 0;
  std::shared_ptr<MpiFile> file;
};
constexpr std::uint64_t open_mark = 0x70656e73746f636bULL;
/// Fortran's numbers begin above all that MPI libraries use for MPI_FILE_NULL.
constexpr int first_index = 4096;

class Slots {
 public:
  Slot* take(std::shared_ptr<MpiFile> file) {
    const std::lock_guard guard(mutex_);
    if (free_.empty()) {
      slots_.push_back({0, first_index + static_cast<int>(slots_.size()), nullptr});
      free_.push_back(&slots_.back());
    }
    Slot* const slot = free_.back();
    free_.pop_back();
    slot->file = std::move(file);
    slot->mark = open_mark;
    return slot;
  }
  void give(Slot* slot) {
    const std::lock_guard guard(mutex_);
    slot->mark = 0;
    slot->file.reset();
    free_.push_back(slot);
  }
  Slot* at(int index) {
    const std::lock_guard guard(mutex_);
    const int place = index - first_index;
    const bool there = place >= 0 && static_cast<std::size_t>(place) < slots_.size();
    return there ? &slots_[static_cast<std::size_t>(place)] : nullptr;
  }
  static Slots& of_process() {
    static auto* const slots = new Slots;
    return *slots;
  }

 private:
  std::mutex mutex_;
  std::deque<Slot> slots_;
  std::vector<Slot*> free_;
};

Slot* slot_of(MPI_File handle) noexcept {
  if (handle == MPI_FILE_NULL || handle == nullptr) return nullptr;
  auto* const slot = reinterpret_cast<Slot*>(handle);
  return reinterpret_cast<std::uintptr_t>(slot) % alignof(Slot) == 0 &&
                 reinterpret_cast<std::uintptr_t>(slot) > 65536 && slot->mark == open_mark
             ? slot
             : nullptr;
}

int null_index() noexcept {
  // In the standard ABI handles are numbers; elsewhere it is 0 for Fortran.
  const auto value = reinterpret_cast<std::uintptr_t>(MPI_FILE_NULL);
  return value < first_index ? static_cast<int>(value) : 0;
}

}  // namespace

MPI_File make_handle(std::shared_ptr<MpiFile> file) {
  return reinterpret_cast<MPI_File>(Slots::of_process().take(std::move(file)));
}

std::shared_ptr<MpiFile> file_of(MPI_File handle) noexcept {
  Slot* const slot = slot_of(handle);
  return slot != nullptr ? slot->file : nullptr;
}

void free_handle(MPI_File handle) noexcept {
  if (Slot* const slot = slot_of(handle)) Slots::of_process().give(slot);
}

int to_fortran(MPI_File handle) noexcept {
  Slot* const slot = slot_of(handle);
  return slot != nullptr ? slot->index : null_index();
}

MPI_File from_fortran(int index) noexcept {
  Slot* const slot = Slots::of_process().at(index);
  return slot != nullptr ? reinterpret_cast<MPI_File>(slot) : MPI_FILE_NULL;
}

}  // namespace penstock::dropin
