// Common parts of tests of operations on simulated ranks: random requests, settings and layouts,
// and a model of the file.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "support/random_patterns.hpp"
#include "support/simulated_ranks.hpp"

namespace penstock::test {

inline constexpr std::int64_t file_bytes = 6000;

/// Number of cases per test: sanitizers are ten times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr unsigned times_cases = 1;
#else
inline constexpr unsigned times_cases = 5;
#endif

inline FileUnits units() {
  FileUnits units;
  units.all = {0, file_bytes};
  return units;
}

/// One rank's request, and its memory.
struct RankRequest {
  Places file, memory;
  std::vector<std::byte> bytes;
  Nest file_nest, memory_nest;

  RankRequest(Random& r, int number) {
    Drawn drawn = draw_ascending(r, static_cast<int>(r.in(1, 3)));
    const std::int64_t by = r.in(0, 400) * r.in(0, 8);
    file_nest = drawn.nest.moved(by);
    for (const std::int64_t place : drawn.places) file.push_back(place + by);
    Drawn in_memory = draw_memory(r, static_cast<std::int64_t>(file.size()));
    memory_nest = in_memory.nest;
    memory = in_memory.places;
    std::int64_t most = 0;
    for (const std::int64_t place : memory) most = std::max(most, place + 1);
    bytes.resize(static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(number * 31 + static_cast<int>(i) * 7 + 1);
  }

  Access access(Direction direction) {
    Access access;
    access.direction = direction;
    if (file.empty()) return access;
    access.file = Footprint({FilePattern(file_nest)});
    access.memory.push_back(MemoryMap(bytes.data(), memory_nest));
    return access;
  }
  std::byte& at(std::size_t i) { return bytes[static_cast<std::size_t>(memory[i])]; }
};

using Requests = std::vector<RankRequest>;
using Operations = std::vector<std::shared_ptr<Operation>>;

inline Requests draw(Random& r, int ranks) {
  Requests requests;
  for (int rank = 0; rank < ranks; ++rank) requests.emplace_back(r, rank);
  return requests;
}

/// The file, byte by byte: the highest rank wins.
struct Model {
  std::vector<std::byte> bytes = std::vector<std::byte>(file_bytes);

  void write(Requests& requests) {
    for (RankRequest& request : requests)
      for (std::size_t i = 0; i < request.file.size(); ++i)
        bytes[static_cast<std::size_t>(request.file[i])] = request.at(i);
  }
  void expect_in(Storage& storage) const {
    std::vector<std::byte> there(bytes.size());
    ASSERT_EQ(read_fully(storage, there, 0).bytes, file_bytes);
    for (std::size_t i = 0; i < there.size(); ++i)
      ASSERT_EQ(static_cast<int>(there[i]), static_cast<int>(bytes[i])) << "at offset " << i;
  }
  void expect_in(RankRequest& request) const {
    for (std::size_t i = 0; i < request.file.size(); ++i)
      ASSERT_EQ(static_cast<int>(request.at(i)),
                static_cast<int>(bytes[static_cast<std::size_t>(request.file[i])]))
          << "of offset " << request.file[i];
  }
};

inline Layout draw_layout(Random& r, int most) {
  Layout layout;
  layout.ranks = static_cast<int>(r.in(1, most));
  layout.per_node = static_cast<int>(r.in(0, 4));
  return layout;
}

inline Hints draw_hints(Random& r, const Layout& layout) {
  constexpr Method methods[] = {Method::gather, Method::two_phase, Method::extended,
                                Method::automatic};
  constexpr Exchange by_messages[] = {Exchange::step1,    Exchange::step2, Exchange::step3,
                                      Exchange::step4,    Exchange::step5, Exchange::sparse,
                                      Exchange::alltoallw};
  Hints hints;
  hints.method = methods[r.in(0, 3)];
  hints.exchange = layout.per_node > 0 && layout.ranks > 1 && r.in(0, 1) == 0
                       ? Exchange::node
                       : by_messages[r.in(0, 6)];
  if (hints.method == Method::automatic) hints.exchange = Exchange::automatic;
  hints.aggregators = r.in(0, layout.ranks);
  hints.buffer_size = r.in(1, 4) * r.in(16, 400);
  hints.pipeline = r.in(0, 3) == 0 ? Pipeline::always : Pipeline::never;
  hints.active_buffer_size = 0;
  return hints;
}

inline Hints unbuffered(Method method, std::int64_t buffer_size) {
  Hints hints;
  hints.method = method;
  hints.buffer_size = buffer_size;
  hints.pipeline = Pipeline::never;
  hints.active_buffer_size = 0;
  return hints;
}

struct Simulated : testing::Test {
  std::shared_ptr<Storage> shared = make_shared_storage(file_bytes);
  Model model;

  SimulatedRanks::MakeStorage views() {
    return [this](int) { return view_of(shared); };
  }
  static void begin_all(SimulatedRanks& ranks, Requests& requests, Direction direction,
                        const Hints& hints, Operations& begun,
                        std::optional<Background> background = std::nullopt) {
    for (int rank = 0; rank < ranks.size(); ++rank)
      begun.push_back(ranks.begin(rank, requests[static_cast<std::size_t>(rank)].access(direction),
                                  hints, background));
  }
};

/// A base for views of storage. Its locks lock nothing.
class StorageView : public Storage {
 public:
  explicit StorageView(std::shared_ptr<Storage> shared) : view_(view_of(std::move(shared))) {}

  std::int64_t move_some(Direction direction, Parts memory, std::int64_t offset) override {
    return view_->move_some(direction, memory, offset);
  }
  std::int64_t size() override { return view_->size(); }
  std::int64_t resize(std::int64_t bytes) override { return view_->resize(bytes); }
  std::int64_t sync() override { return 0; }
  std::unique_ptr<RangeLock> lock(Extent, LockKind, int& error) override {
    error = 0;
    return std::make_unique<RangeLock>();
  }
  const std::string& path() const override { return view_->path(); }

 private:
  std::unique_ptr<Storage> view_;
};

inline std::string text_of(const Hints& hints) {
  std::string text;
  for (const auto& [name, value] : hints.text()) text += name + "=" + value + " ";
  return text;
}

inline bool all_ended(const Operations& operations) {
  return std::ranges::all_of(operations, [](const auto& o) { return o->has_ended(); });
}

inline void expect_no_errors(const Operations& operations) {
  for (const auto& operation : operations)
    EXPECT_FALSE(operation->error()) << operation->error()->what();
}

}  // namespace penstock::test
