// Whether patterns share a byte, from their descriptions. Patterns of one array have the same steps
// at the same depth: then two of their children are representative.
#include <algorithm>

#include "pattern/file_pattern.hpp"

namespace penstock {
namespace {

using Node = Nest::Node;

Extent moved(Extent extent, std::int64_t by) noexcept {
  return {extent.begin + by, extent.end + by};
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

class Comparison {
 public:
  /// `looks`: limit of compared pairs of nodes.
  explicit Comparison(std::int64_t looks) : looks_(looks) {}

  /// `distance`: of the place of b from that of a.
  Apart compare(const Node& a, const Node& b, std::int64_t distance) {
    if (intersect(a.hull, moved(b.hull, distance)).empty()) return Apart::yes;
    if (a.is_run() && b.is_run()) return Apart::no;
    if (--looks_ < 0) return Apart::unknown;
    const auto* first = std::get_if<Node::Repeat>(&a.form);
    const auto* second = std::get_if<Node::Repeat>(&b.form);
    if (first != nullptr && second != nullptr && first->step == second->step)
      return in_step(*first, *second, distance);
    return unit(a) >= unit(b) ? unfold(a, b, distance) : unfold(b, a, -distance);
  }

 private:
  /// The step of its children: the node with the larger one is unfolded.
  static std::int64_t unit(const Node& node) noexcept {
    if (node.is_run()) return 0;
    const auto* repeat = std::get_if<Node::Repeat>(&node.form);
    return repeat != nullptr ? repeat->step : node.hull.end - node.hull.begin;
  }

  /// Child i of `a` is at the same distance from child i + k of `b` for all i.
  Apart in_step(const Node::Repeat& a, const Node::Repeat& b, std::int64_t distance) {
    const std::int64_t step = a.step;
    const Extent at = a.child->hull, other = moved(b.child->hull, distance);
    const std::int64_t least = std::max(-(a.count - 1), floor_div(at.begin - other.end, step) + 1);
    const std::int64_t most = std::min(b.count - 1, -floor_div(other.begin - at.end, step) - 1);
    Apart result = Apart::yes;
    for (std::int64_t k = least; k <= most && result != Apart::no; ++k)
      result = worse(result, compare(*a.child, *b.child, distance + k * step));
    return result;
  }

  /// Compares the children of `a` that `b` reaches, one by one.
  Apart unfold(const Node& a, const Node& b, std::int64_t distance) {
    const Extent reach = moved(b.hull, distance);
    Apart result = Apart::yes;
    // False: stop.
    const auto look = [&](std::int64_t place, const Node& child) {
      if (place + child.hull.begin >= reach.end) return false;
      result = worse(result, compare(child, b, distance - place));
      return result == Apart::yes;
    };
    if (const auto* repeat = std::get_if<Node::Repeat>(&a.form)) {
      const Extent child = repeat->child->hull;
      std::int64_t i = std::max<std::int64_t>(0, floor_div(reach.begin - child.end, repeat->step));
      for (; i < repeat->count && look(i * repeat->step, *repeat->child); ++i) continue;
    } else if (const auto* list = std::get_if<Node::List>(&a.form)) {
      for (auto at = first_above(list->places, reach.begin - list->child->hull.end);
           at != list->places.end() && look(*at, *list->child); ++at)
        continue;
    } else if (const auto* table = std::get_if<Node::Table>(&a.form)) {
      auto at = std::upper_bound(table->places.begin(), table->places.end(), reach.begin);
      if (at != table->places.begin()) --at;
      for (; at != table->places.end(); ++at) {
        const auto i = static_cast<std::size_t>(at - table->places.begin());
        const std::int64_t length = table->starts[i + 1] - table->starts[i];
        if (!look(*at, {Node::Run{}, length, 1, {0, length}})) break;
      }
    } else {
      const auto& parts = std::get<Node::Sequence>(a.form);
      for (std::size_t i = 0; i < parts.children.size(); ++i)
        if (parts.places[i] + parts.children[i]->hull.end > reach.begin &&
            !look(parts.places[i], *parts.children[i]))
          break;
    }
    return result;
  }

  static std::vector<std::int64_t>::const_iterator first_above(
      const std::vector<std::int64_t>& places, std::int64_t value) noexcept {
    return std::upper_bound(places.begin(), places.end(), value);
  }
  static Apart worse(Apart a, Apart b) noexcept {
    if (a == Apart::no || b == Apart::no) return Apart::no;
    return a == Apart::unknown || b == Apart::unknown ? Apart::unknown : Apart::yes;
  }

  std::int64_t looks_;
};

}  // namespace

Apart are_apart(std::span<const FilePattern* const> patterns) {
  std::vector<const FilePattern*> sorted;
  for (const FilePattern* pattern : patterns)
    if (!pattern->empty()) sorted.push_back(pattern);
  std::sort(sorted.begin(), sorted.end(), [](const FilePattern* a, const FilePattern* b) {
    return a->hull().begin < b->hull().begin;
  });
  // All pairs of hundreds of interleaved patterns; for more it is cheaper to count their bytes.
  const std::int64_t each = 64 + 2 * std::min<std::int64_t>(std::ssize(sorted), 512);
  Comparison comparison(4096 + each * std::ssize(sorted));
  Apart result = Apart::yes;
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      const Nest &a = sorted[i]->nest(), &b = sorted[j]->nest();
      if (b.hull().begin >= a.hull().end) break;
      switch (comparison.compare(*a.node(), *b.node(), b.place() - a.place())) {
        case Apart::no: return Apart::no;
        case Apart::unknown: return Apart::unknown;
        case Apart::yes: break;
      }
    }
  return result;
}

}  // namespace penstock
