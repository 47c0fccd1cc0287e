#include "random_case.hpp"

#include <array>

namespace {

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

/// A distribution of all elements.
Requests random_distribution(Random& r, const Case& c, int ranks) {
  using Kind = ps::DimensionKind::Kind;
  std::vector<ps::DimensionKind> kinds;
  for (std::size_t d = 0; d < c.array.shape.size(); ++d)
    kinds.push_back({r.pick({Kind::block, Kind::cyclic, Kind::block_cyclic}), 1});
  for (auto& kind : kinds)
    if (kind.kind == Kind::block_cyclic) kind.block = r.in(1, 4);
  const ps::Distribution distribution(c.array.shape, ranks, kinds);
  Requests requests(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    requests[rank].sections = {distribution.share(rank).section};
  return requests;
}

Requests random_requests(Random& r, const Case& c, int ranks) {
  Requests requests(static_cast<std::size_t>(ranks));
  const int style = static_cast<int>(r.in(0, 5));
  if (style == 0) return random_distribution(r, c, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (style == 1 && rank != ranks / 2) continue;                 // all but one are empty
    if (style == 2 && (rank == 0 || rank == ranks - 1)) continue;  // first and last are empty
    const std::int64_t count = style == 3 ? r.in(0, 4) : r.in(0, 1) + (style == 4);
    for (std::int64_t i = 0; i < count; ++i)
      requests[rank].sections.push_back(random_section(r, c.array.shape));
  }
  if (style == 5)  // all ranks want the same
    for (int rank = 1; rank < ranks; ++rank) requests[rank] = requests[0];
  return requests;
}

/// Node proxies forward requests that do not overlap, between nodes of a few ranks.
void stress_case(Random& r, Case& c, int ranks) {
  if (r.chance(60)) c.writes = random_distribution(r, c, ranks);
  if (r.chance(30)) c.reads = random_distribution(r, c, ranks);
  stress(r, c.write_hints, ranks, c.array.element_size, c.array.bytes());
  stress(r, c.read_hints, ranks, c.array.element_size, c.array.bytes());
  c.write_hints.ranks_per_node = few_ranks_per_node(r);
}

void ask_in_bytes(Random& r, Case& c, int ranks) {
  const std::int64_t bytes = c.array.bytes();
  if (bytes == 0) return;
  c.array.shape = {bytes};
  c.array.element_size = 1;
  c.npy = false;
  c.writes = requests_of(ps::test::draw_patterns(r, bytes, ranks));
  c.reads = requests_of(ps::test::draw_patterns(r, bytes, ranks));
}

std::vector<std::int64_t> random_shape(Random& r) {
  const std::int64_t dims = r.chance(10) ? r.in(6, 8) : r.in(1, 4);
  std::int64_t room = r.pick<std::int64_t>({60, 600, 6000});
  std::vector<std::int64_t> shape;
  for (std::int64_t d = 0; d < dims; ++d) {
    const std::int64_t most = std::min<std::int64_t>(room, dims == 1 ? room : 24);
    shape.push_back(r.chance(3) ? 0 : r.in(1, std::max<std::int64_t>(1, most)));
    room /= std::max<std::int64_t>(1, shape.back());
  }
  return shape;
}

std::optional<ps::Background> random_mode(Random& r) {
  const auto picked = r.in(0, 4);
  if (picked < 2) return std::nullopt;
  return std::array{ps::Background::none, ps::Background::storage,
                    ps::Background::all}[static_cast<std::size_t>(picked - 2)];
}

/// Settings chosen at open: nodes of a few ranks each, and the kind of access.
void draw_settings_of_file(Random& r, ps::Hints& hints) {
  hints.ranks_per_node = r.pick<std::int64_t>({0, 0, 1, 2, 3});
  hints.storage =
      r.pick({ps::StorageKind::automatic, ps::StorageKind::automatic, ps::StorageKind::direct,
              ps::StorageKind::uring, ps::StorageKind::uring_direct});
  hints.device = random_device(r);
  // O_DIRECT cuts a write at blocks: an element across two of them may get halves of two writers.
  // The other methods keep writers apart.
  const bool direct =
      hints.storage == ps::StorageKind::direct || hints.storage == ps::StorageKind::uring_direct;
  if (direct && (hints.method == ps::Method::direct || hints.method == ps::Method::automatic))
    hints.method = ps::Method::sieved;
}

}  // namespace

Case random_case(std::uint64_t seed, std::uint64_t number, int ranks, bool stressed) {
  Random r{std::mt19937_64(seed * 1000003 + number)};
  Case c;
  c.array.shape = random_shape(r);
  c.array.element_size = r.pick<std::int64_t>({1, 2, 3, 4, 8, 8, 16, 40, 100});
  c.array.order = r.chance(50) ? ps::Order::c : ps::Order::fortran;
  c.offset = r.pick<std::int64_t>({0, 0, 1, 64, 1000, 4096});
  c.npy = r.chance(20);
  c.writes = random_requests(r, c, ranks);
  c.reads = random_requests(r, c, ranks);
  c.write_hints = random_hints(r, ranks, c.array.element_size);
  c.read_hints = random_hints(r, ranks, c.array.element_size);
  draw_settings_of_file(r, c.write_hints);
  c.write_mode = random_mode(r);
  c.read_mode = random_mode(r);
  c.memory_seed = r.engine();
  if (stressed) stress_case(r, c, ranks);
  if (number % 4 == 2) ask_in_bytes(r, c, ranks);
  return c;
}

void describe(const Case& c) {
  std::string shape;
  for (const auto n : c.array.shape) shape += std::to_string(n) + " ";
  std::fprintf(stderr, "  shape %s element %lld order %s offset %lld %s\n", shape.c_str(),
               static_cast<long long>(c.array.element_size),
               c.array.order == ps::Order::c ? "C" : "F", static_cast<long long>(c.offset),
               c.npy ? "npy" : "raw");
  for (const auto* hints : {&c.write_hints, &c.read_hints}) {
    const auto mode = hints == &c.write_hints ? c.write_mode : c.read_mode;
    std::string text = std::string("mode=") + name_of(mode) + " ";
    for (const auto& [name, value] : hints->text()) text += name + "=" + value + " ";
    std::fprintf(stderr, "  %s\n", text.c_str());
  }
  for (std::size_t rank = 0; rank < c.writes.size(); ++rank) {
    for (std::size_t p = 0; p < c.writes[rank].parts(); ++p)
      std::fprintf(stderr, "  rank %zu writes %s\n", rank, c.writes[rank].text(p).c_str());
    for (std::size_t p = 0; p < c.reads[rank].parts(); ++p)
      std::fprintf(stderr, "  rank %zu reads  %s\n", rank, c.reads[rank].text(p).c_str());
  }
}
