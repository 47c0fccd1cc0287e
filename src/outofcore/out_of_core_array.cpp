#include <penstock/out_of_core.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "base/human.hpp"
#include "mpi/agree.hpp"
#include "outofcore/tile_buffers.hpp"

namespace penstock {
namespace {

[[noreturn]] void fail(ErrorClass kind, const std::string& message) {
  throw Error(kind, message);
}

/// Bytes of all open arrays of this process in the active buffer, which they share.
std::atomic<std::int64_t>& all_active() {
  static std::atomic<std::int64_t> bytes{0};
  return bytes;
}

/// In its own place: of one that replaces another nothing is known yet.
bool makes_file(Mode mode) noexcept {
  return mode == Mode::create || mode == Mode::create_new;
}

int ranks_on_machine(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return 1;
  MPI_Comm machine = MPI_COMM_NULL;
  int ranks = 1;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &ranks);
  MPI_Comm_free(&machine);
  return ranks;
}

std::int64_t largest_of_all(MPI_Comm comm, std::int64_t mine) {
  if (comm == MPI_COMM_NULL) return mine;
  std::int64_t largest = mine;
  MPI_Allreduce(&mine, &largest, 1, MPI_INT64_T, MPI_MAX, comm);
  return largest;
}

void check_room(const std::filesystem::path& path, Mode mode, const ArraySpec& array, int ranks,
                std::int64_t memory) {
  const Room room = free_room(path);
  if (memory > room.memory / ranks)
    fail(ErrorClass::argument,
         "memory: " + text_of_bytes(memory) + " each for " + std::to_string(ranks) +
             " ranks on one machine are more than the " + text_of_bytes(room.memory) +
             " that are free; give less, or start fewer ranks on a machine");
  if (!makes_file(mode) || path.extension() == ".zarr") return;
  std::int64_t bytes = array.element_size;
  for (const std::int64_t extent : array.shape)
    if (extent > 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      bytes = std::numeric_limits<std::int64_t>::max() - 1;
  if (bytes > room.disk)
    fail(ErrorClass::storage, "'" + path.string() + "': the array has " + text_of_bytes(bytes) +
                                  ", and the disk has " + text_of_bytes(room.disk) +
                                  " free; nothing was changed");
}

}  // namespace

class OutOfCoreArray::Impl {
 public:
  Impl(MPI_Comm comm, ArrayFile file, const TileBudget& budget, const OutOfCoreSpec& spec)
      : comm_(comm),
        file_(std::move(file)),
        budget_(budget),
        share_(spec.share),
        background_(spec.background) {
    all_active() += budget_.active_buffer();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    all_active() -= budget_.active_buffer();
    for (TileBuffers& buffers : buffers_) buffers.await_own_writes();
    if (!file_.closed()) file_.abandon();
    // The file, which the handles keep alive, must end before the memory that its thread may still
    // read into.
    for (TileBuffers& buffers : buffers_) buffers.forget_handles();
  }

  void run(const TileLoop& loop, const std::function<void(Tile&)>& body);
  void flush() {
    for (TileBuffers& buffers : buffers_) buffers.finish();
  }
  void close() {
    if (file_.closed()) return;
    if (busy_) fail(ErrorClass::state, "a loop over the tiles is under way; end it first");
    flush();
    file_.close();
    buffers_.clear();
  }
  /// On this rank alone: the others find out in their next call.
  void let_go() noexcept {
    for (TileBuffers& buffers : buffers_) buffers.await_own_writes();
    file_.abandon();
  }
  /// Memory for the tiles of a loop, replacing that of the previous loop.
  TileBuffers& renew(TileUse use, std::int64_t bytes) {
    Hints hints = file_.hints();
    hints.active_buffer_size = largest_of_all(comm_, all_active());
    buffers_.clear();
    buffers_.emplace_back(file_, hints, background_);
    buffers_.back().allocate(TileBudget::buffers(use), bytes);
    return buffers_.back();
  }

  ArrayFile& file() { return file_; }
  const TileBudget& budget() const { return budget_; }

 private:
  friend class Steps;
  void check(const TileLoop& loop) const;
  Tiling cut(const TileLoop& loop) const;
  Tiling cut_into(const TileLoop& loop, std::int64_t room) const;
  Tiling alike(const Tiling& tiling, TileLoop loop) const;
  std::int64_t room_of(const TileLoop& loop) const;

  MPI_Comm comm_;
  std::vector<TileBuffers> buffers_;  // of the last loop; may have writes in flight
  ArrayFile file_;
  TileBudget budget_;
  std::optional<Section> share_;
  Background background_;
  bool busy_ = false;
};

void OutOfCoreArray::Impl::check(const TileLoop& loop) const {
  if (busy_ || (loop.into != nullptr && loop.into->impl_->busy_))
    fail(ErrorClass::state, "a loop over the tiles is under way; end it first");
  const bool has_halo =
      std::any_of(loop.halo.begin(), loop.halo.end(), [](auto w) { return w != 0; });
  if (loop.use != TileUse::read && (has_halo || loop.into != nullptr))
    fail(
        ErrorClass::argument,
        "tiles: a halo, or another array to write into, is for loops that read alone: a tile would "
        "read what the one before has changed, or has not yet");
  if (loop.into == nullptr) return;
  const ArraySpec& other = loop.into->file().spec();
  if (other.shape != file_.spec().shape || other.order != file_.spec().order)
    fail(ErrorClass::argument, "tiles: the array to write into has another shape or order");
}

Tiling OutOfCoreArray::Impl::cut_into(const TileLoop& loop, std::int64_t room) const {
  const ArraySpec& array = file_.spec();
  int ranks = 1;
  if (!share_ && comm_ != MPI_COMM_NULL) MPI_Comm_size(comm_, &ranks);
  return Tiling({array.shape, array.element_size, array.order.value_or(Order::c),
                 share_ ? *share_ : Section::all(array.shape), loop.axis, loop.halo,
                 loop.tile_shape, room, ranks});
}

/// Bytes of a tile with its halo.
std::int64_t OutOfCoreArray::Impl::room_of(const TileLoop& loop) const {
  const std::int64_t room = budget_.tile_bytes(loop.use);
  if (loop.into == nullptr) return room;
  const std::int64_t its_elements =
      loop.into->budget().tile_bytes(TileUse::write) / loop.into->file().spec().element_size;
  return std::min(room, its_elements * file_.spec().element_size);
}

/// Tiles as thin as those of the rank with the thinnest.
Tiling OutOfCoreArray::Impl::alike(const Tiling& tiling, TileLoop loop) const {
  const auto axis = static_cast<std::size_t>(tiling.axis());
  const std::int64_t mine =
      tiling.count() > 0 ? tiling.tile_shape()[axis] : std::numeric_limits<std::int64_t>::max();
  const std::int64_t thinnest = -largest_of_all(comm_, -mine);
  if (tiling.count() == 0 || thinnest == mine) return tiling;
  loop.tile_shape = tiling.tile_shape();
  loop.tile_shape[axis] = thinnest;
  return cut_into(loop, room_of(loop));
}

/// Throws Error with the memory that would be sufficient.
Tiling OutOfCoreArray::Impl::cut(const TileLoop& loop) const {
  check(loop);
  const std::int64_t room = room_of(loop);
  TileLoop least = loop;
  if (least.tile_shape.empty()) least.tile_shape.assign(file_.spec().shape.size(), 1);
  const std::int64_t bytes = cut_into(least, std::numeric_limits<std::int64_t>::max()).bytes();
  if (bytes > room)
    fail(ErrorClass::argument,
         "tiles: memory of " + std::to_string(budget_.memory) +
             " bytes is too little, this loop needs at least " +
             std::to_string(TileBudget::needed(loop.use, bytes, budget_.buffer_size)) + " for " +
             (loop.tile_shape.empty() ? "one element a tile" : "tiles of the shape given"));
  return cut_into(loop, room);
}

/// The steps of one loop: collective calls in the same order on all ranks.
class Steps {
 public:
  /// `target`: the array written to, if it is another one.
  Steps(OutOfCoreArray::Impl& array, OutOfCoreArray::Impl* target, const TileLoop& loop,
        Tiling tiling)
      : loop_(loop), tiling_(std::move(tiling)) {
    int rank = 0, ranks = 1;
    if (!array.share_ && array.comm_ != MPI_COMM_NULL) {
      MPI_Comm_rank(array.comm_, &rank);
      MPI_Comm_size(array.comm_, &ranks);
    }
    first_ = rank;
    stride_ = ranks;
    own_ = rank < tiling_.count() ? (tiling_.count() - rank + ranks - 1) / ranks : 0;
    count_ = largest_of_all(array.comm_, own_);
    source_ = &array.renew(loop.use, tiling_.bytes());
    if (target == nullptr) return;
    const std::int64_t elements = tiling_.bytes() / array.file_.spec().element_size;
    target_ = &target->renew(TileUse::write, elements * target->file_.spec().element_size);
  }

  void run(const std::function<void(Tile&)>& body) {
    if (reads()) begin_read(0);
    for (std::int64_t step = 0; step < count_; ++step) {
      Tile tile{step, place(step), nullptr, nullptr};
      begin_step(step);
      if (step < own_ || loop_.even) {
        tile.data = source_->data(step);
        tile.out_data = target_ != nullptr ? target_->data(step) : tile.data;
        body(tile);
      }
      TileBuffers* const writes = target_ != nullptr ? target_ : source_;
      if (target_ != nullptr || loop_.use != TileUse::read)
        writes->begin_write(step, step < own_ ? &tile.place.section : nullptr);
    }
  }

 private:
  bool reads() const { return loop_.use != TileUse::write; }
  TileSections place(std::int64_t step) const {
    return step < own_ ? tiling_.tile(first_ + step * stride_) : TileSections{};
  }
  void begin_read(std::int64_t step) {
    const TileSections next = place(step);
    source_->begin_read(step, step < own_ ? &next.with_halo : nullptr);
  }
  void begin_step(std::int64_t step) {
    if (reads()) {
      source_->finish_read(step);
      if (step + 1 < count_) begin_read(step + 1);
    } else {
      source_->make_room(step);
    }
    if (target_ != nullptr) target_->make_room(step);
  }

  const TileLoop& loop_;
  Tiling tiling_;
  TileBuffers* source_ = nullptr;
  TileBuffers* target_ = nullptr;
  std::int64_t first_ = 0, stride_ = 1, own_ = 0, count_ = 0;
};

void OutOfCoreArray::Impl::run(const TileLoop& loop, const std::function<void(Tile&)>& body) {
  std::optional<Tiling> tiling;
  const std::optional<Error> error = attempt([&] { tiling.emplace(cut(loop)); });
  const auto use = std::to_string(static_cast<int>(loop.use));
  file_.on_first_rank({{{"use of tiles", use}, {"even", loop.even ? "yes" : "no"}},
                       [] { return std::string(); },
                       false},
                      error ? &*error : nullptr);
  if (loop.even && share_) tiling = alike(*tiling, loop);
  flush();
  if (loop.into != nullptr) loop.into->flush();
  Impl* const other = loop.into != nullptr ? loop.into->impl_.get() : this;
  Steps steps(*this, other == this ? nullptr : other, loop, std::move(*tiling));
  busy_ = other->busy_ = true;
  try {
    steps.run(body);
  } catch (...) {
    busy_ = other->busy_ = false;
    let_go();
    if (other != this) other->let_go();
    throw;
  }
  busy_ = other->busy_ = false;
}

OutOfCoreArray OutOfCoreArray::open(MPI_Comm comm, const std::filesystem::path& path, Mode mode,
                                    const ArraySpec& array, const OutOfCoreSpec& spec,
                                    Hints hints) {
  TileBudget budget;
  const int ranks = ranks_on_machine(comm);
  const bool alone = comm == MPI_COMM_NULL;
  mode = alone ? settled_mode(path, mode) : settled_mode(comm, path, mode);
  const std::optional<Error> error = attempt([&] {
    budget = TileBudget::of(spec.memory, hints.buffer_size);
    check_room(path, mode, array, ranks, spec.memory);
    // Before an existing file loses its content.
    if (spec.share && makes_file(mode)) spec.share->check(array.shape);
  });
  const FirstRankTask agree{{{"memory", std::to_string(spec.memory)},
                             {"background", std::string(to_string(spec.background))},
                             {"has a share", spec.share ? "yes" : "no"}},
                            [] { return std::string(); },
                            mode != Mode::read};
  const Error* const found = error ? &*error : nullptr;
  static_cast<void>(alone ? ArrayFile::on_first_rank(path, agree, found)
                          : ArrayFile::on_first_rank(comm, path, agree, found));
  hints.buffer_size = budget.buffer_size;
  hints.active_buffer_size = budget.active_buffer();
  ArrayFile file = alone ? ArrayFile::open(path, mode, array, hints)
                         : ArrayFile::open(comm, path, mode, array, hints);
  return OutOfCoreArray(std::make_unique<Impl>(comm, std::move(file), budget, spec));
}

OutOfCoreArray::OutOfCoreArray(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OutOfCoreArray::OutOfCoreArray(OutOfCoreArray&&) noexcept = default;
OutOfCoreArray& OutOfCoreArray::operator=(OutOfCoreArray&&) noexcept = default;
OutOfCoreArray::~OutOfCoreArray() = default;

void OutOfCoreArray::for_each_tile(const TileLoop& loop, const std::function<void(Tile&)>& body) {
  impl_->run(loop, body);
}
void OutOfCoreArray::flush() {
  impl_->flush();
}
void OutOfCoreArray::close() {
  impl_->close();
}
ArrayFile& OutOfCoreArray::file() noexcept {
  return impl_->file();
}
const TileBudget& OutOfCoreArray::budget() const noexcept {
  return impl_->budget();
}

}  // namespace penstock
