#include "mpi_io/elements.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"

namespace penstock {
namespace {

using Totals = Elements::Totals;

std::int64_t bytes_of(const Totals& totals, Elements::Unit unit) noexcept {
  return unit == Elements::Unit::native ? totals.native : totals.external;
}

Totals times(const Totals& one, std::int64_t count) {
  constexpr const char* what = "size of a datatype";
  return {checked_multiply(one.count, count, what), checked_multiply(one.native, count, what),
          checked_multiply(one.external, count, what)};
}

/// Totals are known to fit.
Totals times_within(const Totals& one, std::int64_t count) noexcept {
  return {one.count * count, one.native * count, one.external * count};
}

Totals plus(const Totals& a, const Totals& b) {
  constexpr const char* what = "size of a datatype";
  return {checked_add(a.count, b.count, what), checked_add(a.native, b.native, what),
          checked_add(a.external, b.external, what)};
}

}  // namespace

/// `copies` of a basic type, or of a sequence of different parts.
struct Elements::Node {
  std::int64_t copies = 1;
  Totals one;  // of a copy
  BasicType type;
  std::vector<Ref> parts;      // empty: copies of `type`
  std::vector<Totals> before;  // totals of a copy before each part

  Totals totals() const noexcept { return times_within(one, copies); }
  Totals within(std::int64_t bytes, Unit unit) const noexcept;
  void for_each(std::int64_t begin, std::int64_t end, const Visit& visit) const;
  std::int64_t node_count() const noexcept {
    std::int64_t count = 1;
    for (const Ref& part : parts) count += part->node_count();
    return count;
  }
};

Totals Elements::Node::within(std::int64_t bytes, Unit unit) const noexcept {
  const std::int64_t whole = std::min(bytes / bytes_of(one, unit), copies);
  Totals result = times_within(one, whole);
  const std::int64_t left = bytes - bytes_of(result, unit);
  if (parts.empty() || whole == copies || left == 0) return result;
  const auto after = std::upper_bound(
      before.begin(), before.end(), left,
      [&](std::int64_t value, const Totals& totals) { return value < bytes_of(totals, unit); });
  const auto index = static_cast<std::size_t>(after - before.begin() - 1);
  const Totals in_part = parts[index]->within(left - bytes_of(before[index], unit), unit);
  for (const Totals& more : {before[index], in_part})
    result = {result.count + more.count, result.native + more.native,
              result.external + more.external};
  return result;
}

void Elements::Node::for_each(std::int64_t begin, std::int64_t end, const Visit& visit) const {
  if (parts.empty()) return visit(type, end - begin);
  while (begin < end) {
    const std::int64_t copy = begin / one.count, start = copy * one.count;
    const std::int64_t stop = std::min(end, start + one.count);
    const auto after = std::upper_bound(
        before.begin(), before.end(), begin - start,
        [](std::int64_t value, const Totals& totals) { return value < totals.count; });
    for (auto i = static_cast<std::size_t>(after - before.begin() - 1);
         i < parts.size() && begin < stop; ++i) {
      const std::int64_t first = start + before[i].count;
      const std::int64_t last = std::min(stop, first + parts[i]->totals().count);
      parts[i]->for_each(begin - first, last - first, visit);
      begin = last;
    }
  }
}

Elements Elements::of(BasicType type) {
  Node node;
  node.type = type;
  node.one = {1, type.native_size(), type.external_size()};
  return Elements(std::make_shared<const Node>(std::move(node)));
}

Elements Elements::repeat(const Elements& child, std::int64_t count) {
  if (child.empty() || count <= 0) return {};
  if (count == 1) return child;
  Node node = *child.node_;
  node.copies = checked_multiply(node.copies, count, "size of a datatype");
  times(node.one, node.copies);
  return Elements(std::make_shared<const Node>(std::move(node)));
}

/// Equal neighbours, or neighbours of one basic type, become one part.
Elements Elements::sequence(const std::vector<Elements>& parts) {
  Node node;
  std::vector<Elements> merged;
  for (const Elements& part : parts) {
    if (part.empty()) continue;
    const Node* const last = merged.empty() ? nullptr : merged.back().node_.get();
    const bool same = last != nullptr && last->parts.empty() && part.node_->parts.empty() &&
                      last->type == part.node_->type;
    if (!same) {
      merged.push_back(part);
      continue;
    }
    const std::int64_t copies = checked_add(last->copies, part.node_->copies, "size of a datatype");
    merged.back() = repeat(of(part.node_->type), copies);
  }
  if (merged.empty()) return {};
  if (merged.size() == 1) return merged.front();
  for (const Elements& part : merged) {
    node.before.push_back(node.one);
    node.one = plus(node.one, part.totals());
    node.parts.push_back(part.node_);
  }
  return Elements(std::make_shared<const Node>(std::move(node)));
}

Totals Elements::totals() const noexcept {
  return node_ ? node_->totals() : Totals{};
}

Totals Elements::within(std::int64_t bytes, Unit unit) const noexcept {
  return node_ && bytes > 0 ? node_->within(bytes, unit) : Totals{};
}

void Elements::for_each(std::int64_t begin, std::int64_t end, const Visit& visit) const {
  if (node_ && begin < end) node_->for_each(begin, end, visit);
}

std::int64_t Elements::node_count() const noexcept {
  return node_ ? node_->node_count() : 0;
}

}  // namespace penstock
