#include "background_file.hpp"

#include "file/process.hpp"

namespace {

unsigned char value_of(std::int64_t call, int rank, std::int64_t at) {
  const std::uint64_t mixed =
      static_cast<std::uint64_t>(call * 1000003 + rank * 8191 + at * 131 + 1) *
      0x9E3779B97F4A7C15ULL;
  return static_cast<unsigned char>(mixed >> 56);
}

}  // namespace

void BackgroundFile::fill(bool writes) {
  model.assign(static_cast<std::size_t>(end()), 0);
  for (std::size_t i = 0; i < model.size(); ++i)
    model[i] = static_cast<unsigned char>(i * 37 + i / 251);
  if (writes)
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(model.data()),
               static_cast<std::streamsize>(model.size()));
}

void BackgroundFile::open(MPI_Comm comm) {
  ps::ArraySpec spec;
  spec.shape = array.shape;
  spec.element_size = array.element_size;
  spec.offset = offset;
  spec.container = ps::Container::raw;
  ps::Hints hints;
  set(hints);
  opened.push_back(std::make_shared<ps::ArrayFile::Impl>(ps::background_of_process(),
                                                         ps::Communicator(comm), path,
                                                         ps::Mode::read_write, spec, hints));
}

void BackgroundFile::forget() {
  opened.clear();
  pending.clear();
  kept.clear();
  used = 0;
}

void BackgroundFile::set(ps::Hints& hints) const {
  hints.storage = storage;
  hints.ranks_per_node = ranks_per_node;
  hints.device = device;
}

void BackgroundFile::put(int rank, std::int64_t call, const ModelRequest& request,
                         Memories* memories) {
  std::int64_t k = 0;
  for (std::size_t p = 0; p < request.parts(); ++p) {
    const std::vector<std::int64_t> places = request.places(array, p);
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::int64_t b = 0; b < array.element_size; ++b, ++k) {
        const unsigned char value = value_of(call, rank, k);
        model[static_cast<std::size_t>(offset + places[i] + b)] = value;
        if (memories == nullptr) continue;
        Memory& memory = (*memories)[p];
        memory.bytes[static_cast<std::size_t>(memory.places[i] + b)] = value;
      }
  }
}

std::vector<Bytes> BackgroundFile::expected(const ModelRequest& request,
                                            const Memories& memories) const {
  std::vector<Bytes> expected;
  for (std::size_t p = 0; p < memories.size(); ++p) {
    Bytes& bytes = expected.emplace_back(memories[p].bytes.size(), Memory::untouched);
    const std::vector<std::int64_t> places = request.places(array, p);
    for (std::size_t i = 0; i < places.size(); ++i)
      std::copy_n(model.begin() + offset + places[i], array.element_size,
                  bytes.begin() + memories[p].places[i]);
  }
  return expected;
}

void BackgroundFile::compare(const Bytes& got, const Bytes& expected,
                             const std::string& what) const {
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i])
      throw Failure{what + " of '" + path + "': byte " + std::to_string(i) + " is " +
                    std::to_string(got[i]) + ", expected " + std::to_string(expected[i])};
}

void BackgroundFile::compare(const Memories& got, const std::vector<Bytes>& expected,
                             const std::string& what) const {
  for (std::size_t p = 0; p < got.size(); ++p)
    compare(got[p].bytes, expected[p], what + ", part " + std::to_string(p));
}

void BackgroundFile::check(MPI_Comm comm) const {
  quiet_barrier(comm);
  const Bytes bytes = whole_file(path);
  if (bytes.size() != model.size())
    throw Failure{"'" + path + "' has " + std::to_string(bytes.size()) + " bytes, expected " +
                  std::to_string(model.size())};
  compare(bytes, model, "content");
  quiet_barrier(comm);
}

Requests random_sections(Random& r, const ModelArray& array, int ranks, bool apart) {
  Requests requests(static_cast<std::size_t>(ranks));
  const std::int64_t rows = array.shape[0], columns = array.shape[1];
  if (!apart) {
    for (ModelRequest& request : requests)
      if (!r.chance(15)) request.sections = {grid(random_range(r, rows), random_range(r, columns))};
    return requests;
  }
  const ps::Range some = random_range(r, rows);
  const bool blocks = r.chance(50);
  // The same elements belong to different ranks over time.
  const std::int64_t turn = r.in(0, ranks - 1);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t place = (rank + turn) % ranks;
    if (r.chance(10)) continue;
    requests[static_cast<std::size_t>(rank)].sections = {
        blocks         ? grid(some, {columns * place / ranks, columns * (place + 1) / ranks})
        : r.chance(50) ? grid(some, {place, columns, ranks})
                       : grid({some.lower, some.upper}, {place, columns, ranks})};
  }
  return requests;
}

Requests random_patterns(Random& r, const ModelArray& array, int ranks, bool apart) {
  return requests_of(apart ? ps::test::draw_patterns_apart(r, array.bytes(), ranks)
                           : ps::test::draw_patterns(r, array.bytes(), ranks));
}
