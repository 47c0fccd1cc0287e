// Nest: an ordered sequence of runs of bytes, described without listing them: a run; copies of a
// nest at a constant step, or at the places of a list; runs of any length; nests of different form
// one after the other. A place is the beginning of a run or nest: in a file an offset
// (file_pattern.hpp), in memory the distance from an address (memory_map.hpp).
//
// Invariants:
//   1. The bytes are numbered in the order of the description, 0 <= position < size(): these are
//      the positions in the data stream by which a file pattern and a memory map are joined.
//   2. Neighbours that form one run, or one regular repetition, are one node: descriptions of the
//      same bytes in the same order have few nodes, whatever they were made from.
//   3. A nest is a value: its nodes are immutable and shared.
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
  /// Throw Error(argument) if a place or a size exceeds 63 bits. An empty child, or no copies of
  /// it, makes an empty nest.
  static Nest run(std::int64_t place, std::int64_t length);
  static Nest repeat(const Nest& child, std::int64_t count, std::int64_t step);
  /// `places`: added to the child's own.
  static Nest list(const Nest& child, std::vector<std::int64_t> places);
  static Nest table(std::vector<std::int64_t> places, std::span<const std::int64_t> lengths);
  static Nest sequence(std::vector<Nest> parts);

  bool empty() const noexcept { return node_ == nullptr; }
  std::int64_t size() const noexcept;
  /// From the lowest byte to behind the highest; {0, 0} if empty.
  Extent hull() const noexcept;
  std::int64_t place() const noexcept { return place_; }
  const Node* node() const noexcept { return node_.get(); }

  Nest moved(std::int64_t distance) const;
  /// The bytes at positions [begin, end).
  Nest cut(std::int64_t begin, std::int64_t end) const;
  /// The place of the byte at `position`.
  std::int64_t place_of(std::int64_t position) const noexcept;
  /// Index of the run that contains the byte at `position`.
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

/// `count` runs of `run` bytes, whose beginnings are `step` bytes apart.
struct Strided {
  std::int64_t place = 0, run = 0, count = 0, step = 0;
};

/// Iterates over positions [begin, end) of a nest. The cost of a step is about the depth.
class NestCursor {
 public:
  NestCursor(const Nest& nest, std::int64_t begin, std::int64_t end);
  /// False: there is none left.
  bool next(Strided& out);

 private:
  struct Frame {
    const Nest::Node* node;
    std::int64_t place, index;
  };
  void descend(const Nest::Node* node, std::int64_t place, std::int64_t skip);
  void finish_frames();
  std::int64_t emit(const Frame& frame, Strided& out);

  /// This many frames are stored within this object.
  static constexpr std::size_t few = 4;

  alignas(Frame) std::array<std::byte, few * sizeof(Frame)> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::pmr::vector<Frame> frames_{&memory_};  // the innermost last
  std::int64_t left_;
  std::int64_t skip_ = 0;  // bytes of the current run
};

/// Reads words of Nest::encode. Throws Error(internal) for others.
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
