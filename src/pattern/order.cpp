#include "pattern/order.hpp"

#include <string>
#include <utility>

#include <penstock/error.hpp>

namespace penstock {
namespace {

using Node = Nest::Node;

/// Beginnings of runs; each further one is compared with the last.
struct Begins {
  std::int64_t first = 0, last = 0;

  Begins moved(std::int64_t by) const noexcept { return {first + by, last + by}; }
};

class OrderOf {
 public:
  Begins visit(const Node& node, std::int64_t at) {
    if (node.is_run()) return {0, 0};
    if (const auto* repeat = std::get_if<Node::Repeat>(&node.form)) {
      const Begins child = visit(*repeat->child, at);
      compare(child, child.moved(repeat->step), repeat->child->hull.end, at);
      return {child.first, child.last + (repeat->count - 1) * repeat->step};
    }
    if (const auto* list = std::get_if<Node::List>(&node.form)) return visit_list(*list, at);
    if (const auto* table = std::get_if<Node::Table>(&node.form)) return visit_table(*table, at);
    return visit_sequence(*std::get_if<Node::Sequence>(&node.form), at);
  }

  StreamOrder order;

 private:
  /// `end`: of the bytes so far; `at`: place of the node.
  void compare(const Begins& before, const Begins& next, std::int64_t end, std::int64_t at) {
    const bool descends = next.first < before.last, overlaps = next.first < end;
    if ((descends && !order.descends) || (overlaps && order.ascends())) {
      order.before = at + before.last;
      order.place = at + next.first;
    }
    order.descends = order.descends || descends;
    order.overlaps = order.overlaps || overlaps;
  }

  Begins visit_list(const Node::List& list, std::int64_t at) {
    const Begins child = visit(*list.child, at + list.places.front());
    std::int64_t end = list.places.front() + list.child->hull.end;
    for (std::size_t i = 1; i < list.places.size(); ++i) {
      compare(child.moved(list.places[i - 1]), child.moved(list.places[i]), end, at);
      end = std::max(end, list.places[i] + list.child->hull.end);
    }
    return {child.first + list.places.front(), child.last + list.places.back()};
  }

  Begins visit_table(const Node::Table& table, std::int64_t at) {
    std::int64_t end = table.places.front() + table.starts[1];
    for (std::size_t i = 1; i < table.places.size(); ++i) {
      const std::int64_t place = table.places[i];
      compare({table.places[i - 1], table.places[i - 1]}, {place, place}, end, at);
      end = std::max(end, place + table.starts[i + 1] - table.starts[i]);
    }
    return {table.places.front(), table.places.back()};
  }

  Begins visit_sequence(const Node::Sequence& parts, std::int64_t at) {
    Begins all, before;
    std::int64_t end = 0;
    for (std::size_t i = 0; i < parts.children.size(); ++i) {
      const Begins part = visit(*parts.children[i], at + parts.places[i]).moved(parts.places[i]);
      if (i > 0) compare(before, part, end, at);
      const std::int64_t part_end = parts.places[i] + parts.children[i]->hull.end;
      end = i > 0 ? std::max(end, part_end) : part_end;
      if (i == 0) all.first = part.first;
      before = part;
    }
    all.last = before.last;
    return all;
  }
};

/// Stream positions at which the children begin, and the end.
std::vector<std::int64_t> starts_of(const Node& node) {
  if (const auto* table = std::get_if<Node::Table>(&node.form)) return table->starts;
  if (const auto* parts = std::get_if<Node::Sequence>(&node.form)) return parts->starts;
  const auto* repeat = std::get_if<Node::Repeat>(&node.form);
  const std::int64_t size =
      repeat != nullptr ? repeat->child->size : std::get<Node::List>(node.form).child->size;
  std::vector<std::int64_t> starts;
  for (std::int64_t at = 0; at <= node.size; at += size) starts.push_back(at);
  return starts;
}

std::int64_t child_count(const Node& node) noexcept {
  const auto* repeat = std::get_if<Node::Repeat>(&node.form);
  return repeat != nullptr ? repeat->count : 0;
}

[[noreturn]] void refuse_so_many() {
  throw Error(ErrorClass::argument,
              "file pattern: the bytes of one request turn back more than " +
                  std::to_string(AscendingParts::most) +
                  " times; ask for less at a time, or for the bytes in the order of the file");
}

}  // namespace

StreamOrder stream_order(const Nest& nest) {
  OrderOf visitor;
  if (!nest.empty()) visitor.visit(*nest.node(), nest.place());
  return visitor.order;
}

void AscendingParts::add(const Nest& nest) {
  if (nest.empty()) return;
  if (stream_order(nest).ascends()) return add_ascending(nest);
  const Node& node = *nest.node();
  // At worst each child begins below the previous one and needs a pattern of its own.
  if (child_count(node) > static_cast<std::int64_t>(most)) refuse_so_many();
  const std::vector<std::int64_t> starts = starts_of(node);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) add(nest.cut(starts[i], starts[i + 1]));
}

void AscendingParts::add_ascending(const Nest& nest) {
  if (!part_.empty() && nest.hull().begin < part_.back().hull().end) close_part();
  part_.push_back(nest);
}

void AscendingParts::close_part() {
  if (parts_.size() == most) refuse_so_many();
  if (!part_.empty()) parts_.emplace_back(Nest::sequence(std::exchange(part_, {})));
}

std::vector<FilePattern> AscendingParts::take() {
  close_part();
  return std::exchange(parts_, {});
}

}  // namespace penstock
