// Random requests against a byte-by-byte model. Every rank derives the requests of all ranks from
// one seed, so every rank knows what the file must hold.
//
//   mpiexec -n 4 random_model --cases 200 --seed 1        a run
//   mpiexec -n 4 random_model --replay 1:17               the case that a failure named
//   --stress     many "nodes", tiny windows, few aggregators: what goes through node proxies
//   --repeat N   each case so many times
//   --limit S    seconds for one case; then it counts as hanging
//
// One case in four asks in bytes: nested patterns of the file and of memory, each rank its own.
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <penstock/penstock.hpp>

#include "container/array_impl.hpp"
#include "file/process.hpp"
#include "model_support.hpp"
#include "support/random_patterns.hpp"

namespace ps = penstock;

namespace {

struct Case {
  std::vector<std::int64_t> shape;
  std::int64_t element_size;
  ps::Order order;
  std::int64_t offset;
  bool npy;
  std::vector<std::vector<ps::Section>> writes, reads;  // per rank
  ps::Hints write_hints, read_hints;
  std::optional<ps::Background> write_mode, read_mode;  // none: the blocking call
  std::uint64_t memory_seed;
  // Per rank; where they are used, the array is one of bytes and the sections are not looked at.
  bool in_bytes = false;
  std::vector<std::vector<ps::test::Drawn>> write_patterns, read_patterns;
};

ps::Indices random_indices(Random& r, std::int64_t extent) {
  if (r.chance(15)) {  // an explicit list, any order
    ps::IndexList list;
    for (std::int64_t i = 0; i < extent; ++i)
      if (r.chance(40)) list.push_back(i);
    std::shuffle(list.begin(), list.end(), r.engine);
    return list;
  }
  const std::int64_t lower = r.in(0, extent), upper = r.in(lower, extent);
  if (r.chance(30)) return ps::Range{0, extent};
  const std::int64_t stride = r.chance(50) ? 1 : r.in(1, std::max<std::int64_t>(1, extent));
  return ps::Range{lower, upper, stride, r.chance(25) ? r.in(1, stride) : 1};
}

ps::Section random_section(Random& r, const std::vector<std::int64_t>& shape) {
  if (r.chance(12)) {
    std::int64_t elements = 1;
    for (const auto n : shape) elements *= n;
    std::vector<ps::ElementExtent> runs;
    for (std::int64_t at = r.in(0, 5); at < elements && runs.size() < 20;) {
      const std::int64_t end = std::min(elements, at + r.in(0, 9));
      runs.push_back({at, end});
      at = end + r.in(0, elements / 8 + 1);
    }
    return ps::Section::extents(runs);
  }
  std::vector<ps::Indices> dimensions;
  for (const auto n : shape) dimensions.push_back(random_indices(r, n));
  return ps::Section(dimensions);
}

/// A distribution, with nothing left out.
std::vector<std::vector<ps::Section>> random_distribution(Random& r, const Case& c, int ranks) {
  using Kind = ps::DimensionKind::Kind;
  std::vector<ps::DimensionKind> kinds;
  for (std::size_t d = 0; d < c.shape.size(); ++d)
    kinds.push_back({r.pick({Kind::block, Kind::cyclic, Kind::block_cyclic}), 1});
  for (auto& kind : kinds)
    if (kind.kind == Kind::block_cyclic) kind.block = r.in(1, 4);
  const ps::Distribution distribution(c.shape, ranks, kinds);
  std::vector<std::vector<ps::Section>> requests(ranks);
  for (int rank = 0; rank < ranks; ++rank) requests[rank] = {distribution.share(rank).section};
  return requests;
}

std::vector<std::vector<ps::Section>> random_requests(Random& r, const Case& c, int ranks) {
  std::vector<std::vector<ps::Section>> requests(ranks);
  const int style = static_cast<int>(r.in(0, 5));
  if (style == 0) return random_distribution(r, c, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (style == 1 && rank != ranks / 2) continue;                 // all but one are empty
    if (style == 2 && (rank == 0 || rank == ranks - 1)) continue;  // first and last are empty
    const std::int64_t count = style == 3 ? r.in(0, 4) : r.in(0, 1) + (style == 4);
    for (std::int64_t i = 0; i < count; ++i) requests[rank].push_back(random_section(r, c.shape));
  }
  if (style == 5)  // all want the same
    for (int rank = 1; rank < ranks; ++rank) requests[rank] = requests[0];
  return requests;
}

/// Node proxies forward requests that do not overlap, between nodes of a few ranks.
void stress_case(Random& r, Case& c, int ranks) {
  if (r.chance(60)) c.writes = random_distribution(r, c, ranks);
  if (r.chance(30)) c.reads = random_distribution(r, c, ranks);
  std::int64_t bytes = c.element_size;
  for (const auto n : c.shape) bytes *= n;
  stress(r, c.write_hints, ranks, c.element_size, bytes);
  stress(r, c.read_hints, ranks, c.element_size, bytes);
  c.write_hints.ranks_per_node = few_ranks_per_node(r);
}

/// Patterns within the array: a nest somewhere, or a part of its tiles, as a view of the file has
/// them.
std::vector<std::vector<ps::test::Drawn>> random_patterns(Random& r, std::int64_t bytes,
                                                          int ranks) {
  std::vector<std::vector<ps::test::Drawn>> patterns(static_cast<std::size_t>(ranks));
  const auto draw = [&] {
    ps::FilePattern pattern(ps::test::draw_ascending(r, 4).nest);
    if (!pattern.empty() && r.chance(50))
      pattern = ps::FilePattern::tiles(pattern, pattern.hull().length() + r.in(0, 20),
                                       r.in(0, bytes / 4), r.in(0, bytes));
    pattern = ps::FilePattern(pattern.nest().moved(r.chance(50) ? 0 : r.in(0, bytes)));
    pattern = pattern.within({0, bytes});
    return ps::test::Drawn{pattern.nest(), ps::test::places_of(pattern.nest(), 0, pattern.size())};
  };
  const bool alike = r.chance(15);
  for (auto& of_rank : patterns) {
    if (alike && &of_rank != &patterns.front()) of_rank = patterns.front();
    else
      for (std::int64_t i = r.in(0, 2); i > 0; --i) of_rank.push_back(draw());
  }
  return patterns;
}

void ask_in_bytes(Random& r, Case& c, int ranks) {
  std::int64_t bytes = c.element_size;
  for (const auto n : c.shape) bytes *= n;
  if (bytes == 0) return;
  c.in_bytes = true;
  c.shape = {bytes};
  c.element_size = 1;
  c.npy = false;
  c.write_patterns = random_patterns(r, bytes, ranks);
  c.read_patterns = random_patterns(r, bytes, ranks);
}

Case random_case(std::uint64_t seed, std::uint64_t number, int ranks, bool stressed) {
  Random r{std::mt19937_64(seed * 1000003 + number)};
  Case c;
  const std::int64_t dims = r.chance(10) ? r.in(6, 8) : r.in(1, 4);
  std::int64_t room = r.pick<std::int64_t>({60, 600, 6000});
  for (std::int64_t d = 0; d < dims; ++d) {
    const std::int64_t extent =
        r.chance(3) ? 0
                    : r.in(1, std::max<std::int64_t>(
                                  1, std::min<std::int64_t>(room, dims == 1 ? room : 24)));
    c.shape.push_back(extent);
    room /= std::max<std::int64_t>(1, extent);
  }
  c.element_size = r.pick<std::int64_t>({1, 2, 3, 4, 8, 8, 16, 40, 100});
  c.order = r.chance(50) ? ps::Order::c : ps::Order::fortran;
  c.offset = r.pick<std::int64_t>({0, 0, 1, 64, 1000, 4096});
  c.npy = r.chance(20);
  c.writes = random_requests(r, c, ranks);
  c.reads = random_requests(r, c, ranks);
  c.write_hints = random_hints(r, ranks, c.element_size);
  c.read_hints = random_hints(r, ranks, c.element_size);
  // Chosen at open: nodes of a few ranks each, and the way to the file.
  c.write_hints.ranks_per_node = r.pick<std::int64_t>({0, 0, 1, 2, 3});
  c.write_hints.storage =
      r.pick({ps::StorageKind::automatic, ps::StorageKind::automatic, ps::StorageKind::direct,
              ps::StorageKind::uring, ps::StorageKind::uring_direct});
  c.write_hints.device = random_device(r);
  // O_DIRECT cuts a write at blocks: an element across two of them may get halves of two writers.
  // The other methods keep writers apart.
  if (c.write_hints.storage == ps::StorageKind::direct ||
      c.write_hints.storage == ps::StorageKind::uring_direct)
    if (c.write_hints.method == ps::Method::direct || c.write_hints.method == ps::Method::automatic)
      c.write_hints.method = ps::Method::sieved;
  const auto mode = [&]() -> std::optional<ps::Background> {
    const auto picked = r.in(0, 4);
    if (picked < 2) return std::nullopt;
    return std::array{ps::Background::none, ps::Background::storage,
                      ps::Background::all}[static_cast<std::size_t>(picked - 2)];
  };
  c.write_mode = mode();
  c.read_mode = mode();
  c.memory_seed = r.engine();
  if (stressed) stress_case(r, c, ranks);
  if (number % 4 == 2) ask_in_bytes(r, c, ranks);
  return c;
}

/// Memory of one part of a request: of a section any order of dimensions, any padding, any sign of
/// stride; of a pattern any nest.
struct Memory {
  Bytes bytes;
  std::int64_t first = 16;  // of the section's first element
  std::vector<std::int64_t> shape, strides;
  ps::Nest nest;
  std::vector<std::int64_t> places;  // of each element, in the order of the request

  Memory(Random& r, const ps::Section& section, std::int64_t element_size)
      : shape(section.shape()) {
    std::vector<std::size_t> order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), r.engine);
    strides.resize(shape.size());
    std::int64_t step = element_size, low = 0;
    for (const std::size_t d : order) {
      if (r.chance(30)) step += r.in(0, 3) * element_size + (r.chance(20) ? 1 : 0);
      strides[d] = step;
      const std::int64_t reach = step * std::max<std::int64_t>(1, shape[d]);
      if (r.chance(20)) {
        strides[d] = -step;
        low += step * std::max<std::int64_t>(0, shape[d] - 1);
      }
      step = reach;
    }
    first = low + 16;
    bytes.assign(static_cast<std::size_t>(step + 48 + element_size), 0xEE);
    find_places();
  }
  Memory(Random& r, const ps::test::Drawn& pattern) {
    ps::test::Drawn drawn = ps::test::draw_memory(r, std::ssize(pattern.places));
    bytes.assign(static_cast<std::size_t>(drawn.nest.hull().end + 48), 0xEE);
    nest = std::move(drawn.nest);
    for (const std::int64_t place : drawn.places) places.push_back(first + place);
  }
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(bytes.data()) + first; }

 private:
  void find_places() {
    std::int64_t total = 1;
    for (const auto n : shape) total *= n;
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::int64_t k = 0; k < total; ++k) {
      std::int64_t at = first;
      for (std::size_t d = 0; d < shape.size(); ++d) at += index[d] * strides[d];
      places.push_back(at);
      for (std::size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d]) break;
        index[d] = 0;
      }
    }
  }
};

/// Byte offset in the array of each element of the section, in the section's C order.
std::vector<std::int64_t> model_places(const Case& c, const ps::Section& section) {
  std::vector<std::int64_t> places;
  if (section.is_extents()) {
    for (const auto& run : section.runs())
      for (auto i = run.begin; i < run.end; ++i) places.push_back(i * c.element_size);
    return places;
  }
  if (section.element_count() == 0) return places;
  std::vector<std::int64_t> pitch(c.shape.size());
  std::int64_t step = c.element_size;
  for (std::size_t i = 0; i < c.shape.size(); ++i) {
    const std::size_t d = c.order == ps::Order::c ? c.shape.size() - 1 - i : i;
    pitch[d] = step;
    step *= c.shape[d];
  }
  places.push_back(0);
  for (std::size_t d = 0; d < c.shape.size(); ++d) {
    std::vector<std::int64_t> indices;
    if (const auto* list = std::get_if<ps::IndexList>(&section.dimensions()[d])) indices = *list;
    else {
      const ps::Range range = std::get<ps::Range>(section.dimensions()[d]);
      for (auto i = range.lower; i < range.upper; ++i)
        if ((i - range.lower) % range.stride < range.block) indices.push_back(i);
    }
    std::vector<std::int64_t> grown;
    for (const auto place : places)
      for (const auto i : indices) grown.push_back(place + i * pitch[d]);
    places = std::move(grown);
  }
  return places;
}

unsigned char value_of(int rank, std::size_t part, std::int64_t k, std::int64_t byte) {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(rank) * 31 + part * 17 + k * 131 + byte * 7 + 1) *
      0x9E3779B97F4A7C15ULL;
  return static_cast<unsigned char>(mixed >> 56);
}

void require(bool condition, const std::string& text) {
  if (!condition) throw Failure{text};
}

class CaseRun {
 public:
  CaseRun(MPI_Comm comm, const std::string& folder, const Case& c) : comm_(comm), c_(c) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    path_ = folder + (c.npy ? "/case.npy" : "/case.raw");
    array_bytes_ = c.element_size;
    for (const auto n : c.shape) array_bytes_ *= n;
  }

  void run() {
    Random memory_random{std::mt19937_64(c_.memory_seed + static_cast<std::uint64_t>(rank_))};
    prepare();
    ps::ArraySpec spec;
    spec.shape = c_.shape;
    spec.element_size = c_.element_size;
    spec.dtype = "|V" + std::to_string(c_.element_size);
    spec.order = c_.order;
    spec.offset = c_.npy ? 0 : c_.offset;
    ps::Hints at_open;
    at_open.storage = c_.write_hints.storage;
    at_open.ranks_per_node = c_.write_hints.ranks_per_node;
    at_open.device = c_.write_hints.device;
    ps::ArrayFile::Impl file(ps::background_of_process(), ps::Communicator(comm_), path_,
                             c_.npy ? ps::Mode::create : ps::Mode::read_write, spec, at_open);
    start_ = file.data_offset();
    if (c_.npy) model_ = whole_file(path_);
    quiet_barrier(comm_);
    do_write(file, memory_random);
    quiet_barrier(comm_);
    check_file(whole_file(path_));
    quiet_barrier(comm_);
    do_read(file, memory_random);
    file.bytes().close();
  }

 private:
  void prepare() {
    model_.resize(static_cast<std::size_t>(c_.offset + array_bytes_ + 77));
    for (std::size_t i = 0; i < model_.size(); ++i)
      model_[i] = static_cast<unsigned char>(i * 37 + i / 251);
    if (rank_ == 0) {
      std::filesystem::remove(path_);
      if (!c_.npy)
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<char*>(model_.data()),
                   static_cast<std::streamsize>(model_.size()));
    }
    quiet_barrier(comm_);
  }

  /// Where the elements of part `p` of a rank lie in the array.
  std::vector<std::int64_t> places(int rank, std::size_t p, bool writes) const {
    const auto& patterns = writes ? c_.write_patterns : c_.read_patterns;
    if (c_.in_bytes) return patterns[static_cast<std::size_t>(rank)][p].places;
    return model_places(c_, (writes ? c_.writes : c_.reads)[static_cast<std::size_t>(rank)][p]);
  }
  std::size_t parts(int rank, bool writes) const {
    const auto r = static_cast<std::size_t>(rank);
    if (c_.in_bytes) return (writes ? c_.write_patterns : c_.read_patterns)[r].size();
    return (writes ? c_.writes : c_.reads)[r].size();
  }
  std::vector<Memory> draw_memories(Random& r, bool writes) const {
    std::vector<Memory> memories;
    const auto rank = static_cast<std::size_t>(rank_);
    if (c_.in_bytes)
      for (const auto& drawn : (writes ? c_.write_patterns : c_.read_patterns)[rank])
        memories.emplace_back(r, drawn);
    else
      for (const auto& section : (writes ? c_.writes : c_.reads)[rank])
        memories.emplace_back(r, section, c_.element_size);
    return memories;
  }

  /// The request in bytes.
  ps::Access access(std::vector<Memory>& memories, bool writes) const {
    ps::Access access;
    access.direction = writes ? ps::Direction::write : ps::Direction::read;
    std::vector<ps::FilePattern> file;
    for (std::size_t p = 0; p < memories.size(); ++p) {
      const auto& drawn =
          (writes ? c_.write_patterns : c_.read_patterns)[static_cast<std::size_t>(rank_)][p];
      if (drawn.nest.empty()) continue;
      file.emplace_back(drawn.nest.moved(start_));
      access.memory.emplace_back(memories[p].data(), memories[p].nest);
    }
    access.file = ps::Footprint(std::move(file));
    return access;
  }

  template <class View>
  void transfer(ps::ArrayFile::Impl& file, std::vector<Memory>& memories,
                const std::vector<ps::Section>& sections, bool writes) {
    const auto mode = writes ? c_.write_mode : c_.read_mode;
    const ps::Hints& hints = writes ? c_.write_hints : c_.read_hints;
    if (c_.in_bytes) {
      ps::ByteFile& bytes = file.bytes();
      ps::Request request{access(memories, writes), std::nullopt, &hints};
      if (mode) bytes.end(*bytes.begin(std::move(request), *mode));
      else bytes.transfer(std::move(request));
      return;
    }
    std::vector<ps::Part<View>> parts;
    for (std::size_t p = 0; p < memories.size(); ++p)
      parts.push_back(
          {sections[p], {memories[p].data(), memories[p].shape, memories[p].strides, 0, 0}});
    const std::span<const ps::Part<View>> all(parts);
    const auto direction = writes ? ps::Direction::write : ps::Direction::read;
    if (mode) file.bytes().end(*file.begin(all, &hints, direction, *mode));
    else file.transfer(all, &hints, direction);
  }

  void do_write(ps::ArrayFile::Impl& file, Random& r) {
    std::vector<Memory> memories = draw_memories(r, true);
    for (std::size_t p = 0; p < memories.size(); ++p)
      for (std::size_t k = 0; k < memories[p].places.size(); ++k)
        for (std::int64_t b = 0; b < c_.element_size; ++b)
          memories[p].bytes[static_cast<std::size_t>(memories[p].places[k] + b)] =
              value_of(rank_, p, static_cast<std::int64_t>(k), b);
    transfer<ps::WriteView>(file, memories, c_.writes[static_cast<std::size_t>(rank_)], true);
    check_memory(file, c_.write_hints);
    file.bytes().size();  // what is buffered is in the file then
  }

  void check_memory(const ps::ArrayFile::Impl& file, const ps::Hints& hints) {
    if (file.last_method() < ps::Method::gather || hints.buffer_size < 512) return;
    // These hold a whole round's parcels at once, as in the paper; see docs/hints.md.
    if (hints.exchange != ps::Exchange::automatic && hints.exchange != ps::Exchange::node &&
        hints.exchange != ps::Exchange::sparse)
      return;
    require(file.bytes().last_call().staging_peak <= 2 * hints.buffer_size,
            "staging memory " + std::to_string(file.bytes().last_call().staging_peak) +
                " is above twice the buffer");
  }

  void check_file(const Bytes& file) {
    const bool ordered =
        c_.write_hints.method != ps::Method::direct && c_.write_hints.method != ps::Method::sieved;
    std::vector<std::vector<std::pair<int, std::pair<std::size_t, std::int64_t>>>> writers(
        ordered ? 0 : static_cast<std::size_t>(array_bytes_ / c_.element_size));
    for (int rank = 0; rank < size_; ++rank)
      for (std::size_t p = 0; p < parts(rank, true); ++p) {
        const auto places = this->places(rank, p, true);
        for (std::size_t k = 0; k < places.size(); ++k) {
          for (std::int64_t b = 0; b < c_.element_size; ++b)
            model_[start_ + places[k] + b] = value_of(rank, p, k, b);
          if (!ordered) writers[places[k] / c_.element_size].push_back({rank, {p, k}});
        }
      }
    require(file.size() == model_.size(), "file has " + std::to_string(file.size()) +
                                              " bytes, expected " + std::to_string(model_.size()));
    if (!ordered)  // any one writer of an element will do, but whole; the last of its rank
      for (std::size_t e = 0; e < writers.size(); ++e) {
        for (const auto& [rank, part] : writers[e]) {
          bool all = true;
          for (std::int64_t b = 0; b < c_.element_size; ++b)
            all = all && file[start_ + e * c_.element_size + b] ==
                             value_of(rank, part.first, part.second, b);
          if (!all) continue;
          std::copy_n(file.begin() + start_ + e * c_.element_size, c_.element_size,
                      model_.begin() + start_ + e * c_.element_size);
          break;
        }
      }
    for (std::size_t i = 0; i < file.size(); ++i)
      if (file[i] != model_[i])
        throw Failure{"byte " + std::to_string(i) + " of the file is " + std::to_string(file[i]) +
                      ", expected " + std::to_string(model_[i]) + " (array begins at " +
                      std::to_string(start_) + ")"};
  }

  void do_read(ps::ArrayFile::Impl& file, Random& r) {
    std::vector<Memory> memories = draw_memories(r, false);
    transfer<ps::ReadView>(file, memories, c_.reads[static_cast<std::size_t>(rank_)], false);
    check_memory(file, c_.read_hints);
    for (std::size_t p = 0; p < memories.size(); ++p) {
      Bytes expected(memories[p].bytes.size(), 0xEE);
      const auto places = this->places(rank_, p, false);
      for (std::size_t k = 0; k < places.size(); ++k)
        std::copy_n(model_.begin() + start_ + places[k], c_.element_size,
                    expected.begin() + memories[p].places[k]);
      require(expected == memories[p].bytes, "part " + std::to_string(p) + " of rank " +
                                                 std::to_string(rank_) + " was read wrongly");
    }
  }

  MPI_Comm comm_;
  const Case& c_;
  int rank_ = 0, size_ = 1;
  std::string path_;
  std::int64_t array_bytes_, start_ = 0;
  Bytes model_;
};

/// The first runs.
std::string text_of(const ps::test::Drawn& drawn) {
  std::string text = std::to_string(drawn.places.size()) + " bytes:";
  ps::NestCursor cursor(drawn.nest, 0, drawn.nest.size());
  ps::Strided s;
  for (int i = 0; i < 12 && cursor.next(s); ++i)
    text += " " + std::to_string(s.count) + "x[" + std::to_string(s.place) + ", +" +
            std::to_string(s.run) + ") by " + std::to_string(s.step);
  return text;
}

void describe(const Case& c, int ranks) {
  std::string shape;
  for (const auto n : c.shape) shape += std::to_string(n) + " ";
  std::fprintf(stderr, "  shape %s element %lld order %s offset %lld %s\n", shape.c_str(),
               static_cast<long long>(c.element_size), c.order == ps::Order::c ? "C" : "F",
               static_cast<long long>(c.offset), c.npy ? "npy" : "raw");
  for (const auto* hints : {&c.write_hints, &c.read_hints}) {
    const auto mode = hints == &c.write_hints ? c.write_mode : c.read_mode;
    std::string text = std::string("mode=") + name_of(mode) + " ";
    for (const auto& [name, value] : hints->text()) text += name + "=" + value + " ";
    std::fprintf(stderr, "  %s\n", text.c_str());
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (c.in_bytes) {
      const auto r = static_cast<std::size_t>(rank);
      for (const auto& drawn : c.write_patterns[r])
        std::fprintf(stderr, "  rank %d writes %s\n", rank, text_of(drawn).c_str());
      for (const auto& drawn : c.read_patterns[r])
        std::fprintf(stderr, "  rank %d reads  %s\n", rank, text_of(drawn).c_str());
      continue;
    }
    for (const auto& s : c.writes[rank])
      std::fprintf(stderr, "  rank %d writes %s\n", rank, s.to_string().c_str());
    for (const auto& s : c.reads[rank])
      std::fprintf(stderr, "  rank %d reads  %s\n", rank, s.to_string().c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options("random_model", 100, argc, argv);
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char folder[] = "/tmp/penstock-random-XXXXXX";
  if (rank == 0 && mkdtemp(folder) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (std::uint64_t turn = options.first * options.repeat; turn < options.cases * options.repeat;
       ++turn) {
    const std::uint64_t number = turn / options.repeat;
    const Case c = random_case(options.seed, number, size, is_stressed(options.stress, number));
    const std::string replay = options.replay(size, number);
    watch(rank, replay, options.limit);
    std::string what;
    if (rank == 0 && options.replays && turn % options.repeat == 0)
      describe(c, size);  // in case it never ends
    try {
      CaseRun(MPI_COMM_WORLD, folder, c).run();
    } catch (const Failure& failure) {
      what = failure.text;
    } catch (const std::exception& error) {
      what = error.what();
    }
    // A rank that found a fault has left the case's collectives: end the run at once.
    if (what.empty()) continue;
    std::fprintf(stderr, "FAILED on rank %d: %s\n%s", rank, what.c_str(), replay.c_str());
    describe(c, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  alarm(0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::filesystem::remove_all(folder);
    std::printf("%llu random cases on %d ranks agree with the model\n",
                static_cast<unsigned long long>(options.cases - options.first), size);
  }
  MPI_Finalize();
  return 0;
}
