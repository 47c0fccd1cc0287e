#include "pattern/file_pattern.hpp"

#include <algorithm>
#include <string>

#include <penstock/error.hpp>

#include "base/checked.hpp"

namespace penstock {
namespace {

using Node = Nest::Node;

[[noreturn]] void refuse(std::int64_t before, std::int64_t after, std::int64_t offset) {
  throw Error(ErrorClass::argument, "file pattern: byte " + std::to_string(offset + after) +
                                        " follows bytes up to " + std::to_string(offset + before) +
                                        "; a file pattern must ascend, without a byte twice");
}

void check_order(std::int64_t end, std::int64_t next, std::int64_t offset) {
  if (next < end) refuse(end, next, offset);
}

/// `offset`: of the node, for error messages.
void check_ascending(const Node& node, std::int64_t offset) {
  if (const auto* repeat = std::get_if<Node::Repeat>(&node.form)) {
    check_order(repeat->child->hull.end, repeat->step + repeat->child->hull.begin, offset);
    check_ascending(*repeat->child, offset);
  } else if (const auto* list = std::get_if<Node::List>(&node.form)) {
    for (std::size_t i = 1; i < list->places.size(); ++i)
      check_order(list->places[i - 1] + list->child->hull.end,
                  list->places[i] + list->child->hull.begin, offset);
    check_ascending(*list->child, offset + list->places[0]);
  } else if (const auto* table = std::get_if<Node::Table>(&node.form)) {
    for (std::size_t i = 1; i < table->places.size(); ++i)
      check_order(table->places[i - 1] + (table->starts[i] - table->starts[i - 1]),
                  table->places[i], offset);
  } else if (const auto* parts = std::get_if<Node::Sequence>(&node.form)) {
    for (std::size_t i = 0; i < parts->children.size(); ++i) {
      if (i > 0)
        check_order(parts->places[i - 1] + parts->children[i - 1]->hull.end,
                    parts->places[i] + parts->children[i]->hull.begin, offset);
      check_ascending(*parts->children[i], offset + parts->places[i]);
    }
  }
}

void check_begin(const Nest& nest) {
  if (nest.hull().begin < 0)
    throw Error(ErrorClass::argument, "file pattern: it begins at offset " +
                                          std::to_string(nest.hull().begin) +
                                          ", before the file does");
}

/// The last of `places` at or below `offset`; -1: none.
std::int64_t last_not_above(const std::vector<std::int64_t>& places, std::int64_t offset) noexcept {
  return std::upper_bound(places.begin(), places.end(), offset) - places.begin() - 1;
}

}  // namespace

FilePattern::FilePattern(Nest nest) : nest_(std::move(nest)) {
  if (nest_.empty()) return;
  check_begin(nest_);
  check_ascending(*nest_.node(), nest_.place());
}

FilePattern FilePattern::decode(NestReader& reader) {
  return FilePattern(reader.nest());
}

FilePattern FilePattern::tiles(const FilePattern& pattern, std::int64_t extent, std::int64_t first,
                               std::int64_t bytes) {
  if (pattern.empty() || bytes <= 0) return {};
  if (first < 0)
    throw Error(ErrorClass::argument,
                "file pattern: the stream has no position " + std::to_string(first));
  const std::int64_t last = checked_add(first, bytes, "end of the stream") - 1;
  const std::int64_t skipped = first / pattern.size();
  // Only tiles with bytes of it: the first ones may lie far below.
  const std::int64_t count = last / pattern.size() - skipped + 1;
  const Nest begin = pattern.nest_.moved(checked_multiply(skipped, extent, "place of a tile"));
  check_begin(begin);
  if (count > 1) check_order(begin.hull().end, begin.hull().begin + extent, 0);
  const Nest all = Nest::repeat(begin, count, extent);
  FilePattern part;
  part.nest_ = all.cut(first - skipped * pattern.size(), last + 1 - skipped * pattern.size());
  return part;
}

std::int64_t FilePattern::below(std::int64_t offset) const noexcept {
  std::int64_t count = 0, at = offset - nest_.place();  // relative to the node
  const Node* node = nest_.node();
  if (node == nullptr) return 0;
  for (;;) {
    if (at <= node->hull.begin) return count;
    if (at >= node->hull.end) return count + node->size;
    if (node->is_run()) return count + at;
    // The children before this one end at or below `at`, since they ascend.
    if (const auto* repeat = std::get_if<Node::Repeat>(&node->form)) {
      const std::int64_t index = (at - repeat->child->hull.begin) / repeat->step;
      const std::int64_t child = std::min(index, repeat->count - 1);
      count += child * repeat->child->size;
      at -= child * repeat->step;
      node = repeat->child.get();
    } else if (const auto* list = std::get_if<Node::List>(&node->form)) {
      const std::int64_t index = last_not_above(list->places, at - list->child->hull.begin);
      count += index * list->child->size;
      at -= list->places[static_cast<std::size_t>(index)];
      node = list->child.get();
    } else if (const auto* table = std::get_if<Node::Table>(&node->form)) {
      const auto index = static_cast<std::size_t>(last_not_above(table->places, at));
      const std::int64_t length = table->starts[index + 1] - table->starts[index];
      return count + table->starts[index] + std::min(at - table->places[index], length);
    } else {
      const auto& parts = *std::get_if<Node::Sequence>(&node->form);
      std::size_t low = 0, high = parts.children.size();
      while (high - low > 1) {
        const std::size_t middle = low + (high - low) / 2;
        (parts.places[middle] + parts.children[middle]->hull.begin <= at ? low : high) = middle;
      }
      count += parts.starts[low];
      at -= parts.places[low];
      node = parts.children[low].get();
    }
  }
}

FilePattern FilePattern::within(Extent range) const {
  FilePattern part;
  part.nest_ = nest_.cut(below(range.begin), below(range.end));
  return part;
}

}  // namespace penstock
