// Nest: runs of bytes in an order, described and never listed: a run; copies of a nest at a
// constant step, or at places of a list; runs of any length; nests of different form one after the
// other. A place is where a run or a nest begins: of a file an offset (file_pattern.hpp), of memory
// the distance from an address (memory_map.hpp).
//
// Invariants:
//   1. The bytes are numbered in the order of the description, 0 <= position < size(): these are
//      the positions in the data stream by which a file pattern and a memory map are joined.
//   2. Neighbours that form one run, or one regular repetition, are one node: descriptions of the
//      same bytes in the same order have few nodes, whatever they were made from.
//   3. A nest is a value: its nodes never change and are shared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <variant>
#include <vector>

#include "base/extent.hpp"

namespace penstock {

class Nest {
 public:
  struct Node;
  using Ref = std::shared_ptr<const Node>;

  /// Nothing.
  Nest() = default;
  /// Throw Error(argument) where a place or a size passes 63 bits. An empty child, or no copy of
  /// it, makes an empty nest.
  static Nest run(std::int64_t place, std::int64_t length);
  static Nest repeat(const Nest& child, std::int64_t count, std::int64_t step);
  /// `places`: added to the child's own.
  static Nest list(const Nest& child, std::vector<std::int64_t> places);
  static Nest table(std::vector<std::int64_t> places, std::span<const std::int64_t> lengths);
  static Nest sequence(std::vector<Nest> parts);

  bool empty() const noexcept { return node_ == nullptr; }
  std::int64_t size() const noexcept;
  /// From the lowest byte to behind the highest; {0, 0} of nothing.
  Extent hull() const noexcept;
  std::int64_t place() const noexcept { return place_; }
  const Node* node() const noexcept { return node_.get(); }

  Nest moved(std::int64_t distance) const;
  /// The bytes at positions [begin, end).
  Nest cut(std::int64_t begin, std::int64_t end) const;
  /// Where the byte at `position` is.
  std::int64_t place_of(std::int64_t position) const noexcept;
  /// Which run the byte at `position` is in, of all in their order.
  std::int64_t run_of(std::int64_t position) const noexcept;
  /// Number of runs that positions [begin, end) touch.
  std::int64_t run_count(std::int64_t begin, std::int64_t end) const noexcept {
    return begin < end ? run_of(end - 1) - run_of(begin) + 1 : 0;
  }

  void encode(std::vector<std::int64_t>& words) const;

 private:
  friend class NestReader;
  Nest(std::int64_t place, Ref node) : place_(place), node_(std::move(node)) {}

  std::int64_t place_ = 0;
  Ref node_;
};

struct Nest::Node {
  struct Run {};
  struct Repeat {
    std::int64_t count, step;
    Ref child;
  };
  struct List {
    std::vector<std::int64_t> places;
    Ref child;
  };
  struct Table {
    std::vector<std::int64_t> places, starts;  // starts: one more, the first is 0
  };
  struct Sequence {
    std::vector<std::int64_t> places, starts;
    std::vector<Ref> children;
  };

  std::variant<Run, Repeat, List, Table, Sequence> form;
  std::int64_t size = 0;
  std::int64_t runs = 1;
  Extent hull;  // relative to the node's place

  bool is_run() const noexcept { return form.index() == 0; }
};

/// `count` runs of `run` bytes, `step` bytes from one's begin to the next one's.
struct Strided {
  std::int64_t place = 0, run = 0, count = 0, step = 0;
};

/// Goes through positions [begin, end) of a nest. Each step costs little more than the depth.
class NestCursor {
 public:
  NestCursor(const Nest& nest, std::int64_t begin, std::int64_t end);
  /// False: there is no further one.
  bool next(Strided& out);

 private:
  struct Frame {
    const Nest::Node* node;
    std::int64_t place, index;
  };
  void descend(const Nest::Node* node, std::int64_t place, std::int64_t skip);
  void go_on();
  std::int64_t emit(const Frame& frame, Strided& out);

  /// The memory of so many frames is within this object.
  static constexpr std::size_t few = 4;

  alignas(Frame) std::array<std::byte, few * sizeof(Frame)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<Frame> frames_{&memory_};  // the innermost last
  std::int64_t left_;
  std::int64_t skip_ = 0;  // bytes of the current run
};

/// Words of Nest::encode. Throws Error(internal) for what encode() has not made.
class NestReader {
 public:
  explicit NestReader(std::span<const std::int64_t> words) : words_(words) {}
  bool done() const noexcept { return at_ == words_.size(); }
  std::int64_t word();
  Nest nest();

 private:
  Nest node();
  Nest node_of_kind();
  std::vector<std::int64_t> words(std::int64_t count);

  std::span<const std::int64_t> words_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace penstock
