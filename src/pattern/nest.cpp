#include "pattern/nest.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace penstock {
namespace {

using Node = Nest::Node;

constexpr const char* size_words = "size of a pattern";
constexpr const char* place_words = "end of a pattern";

Nest::Ref share(Node node) {
  return std::make_shared<const Node>(std::move(node));
}

Node run_node(std::int64_t length) {
  return {Node::Run{}, length, 1, {0, length}};
}

std::int64_t count_of(const Node& node) noexcept {
  if (const auto* repeat = std::get_if<Node::Repeat>(&node.form)) return repeat->count;
  if (const auto* list = std::get_if<Node::List>(&node.form))
    return static_cast<std::int64_t>(list->places.size());
  if (const auto* table = std::get_if<Node::Table>(&node.form))
    return static_cast<std::int64_t>(table->places.size());
  if (const auto* sequence = std::get_if<Node::Sequence>(&node.form))
    return static_cast<std::int64_t>(sequence->places.size());
  return 1;
}

/// Place and node of child `index`; not for tables and runs.
std::pair<std::int64_t, const Node*> child_at(const Node& node, std::int64_t index) noexcept {
  const auto i = static_cast<std::size_t>(index);
  if (const auto* repeat = std::get_if<Node::Repeat>(&node.form))
    return {index * repeat->step, repeat->child.get()};
  if (const auto* list = std::get_if<Node::List>(&node.form))
    return {list->places[i], list->child.get()};
  const auto& sequence = *std::get_if<Node::Sequence>(&node.form);
  return {sequence.places[i], sequence.children[i].get()};
}

/// The child that contains `position`; subtracts the bytes before it.
std::int64_t enter_child(const Node& node, std::int64_t& position) noexcept {
  const auto among = [&](const std::vector<std::int64_t>& starts) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), position);
    const std::int64_t index = after - starts.begin() - 1;
    position -= starts[static_cast<std::size_t>(index)];
    return index;
  };
  if (const auto* table = std::get_if<Node::Table>(&node.form)) return among(table->starts);
  if (const auto* sequence = std::get_if<Node::Sequence>(&node.form))
    return among(sequence->starts);
  const std::int64_t size = child_at(node, 0).second->size;
  const std::int64_t index = position / size;
  position %= size;
  return index;
}

std::int64_t length_at(const Node::Table& table, std::int64_t index) noexcept {
  const auto i = static_cast<std::size_t>(index);
  return table.starts[i + 1] - table.starts[i];
}

Extent moved_hull(Extent hull, std::int64_t distance) {
  return {checked_add(hull.begin, distance, place_words),
          checked_add(hull.end, distance, place_words)};
}

Extent joined(Extent a, Extent b) noexcept {
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

/// The common step, if all steps are the same.
bool is_regular(const std::vector<std::int64_t>& places) noexcept {
  for (std::size_t i = 2; i < places.size(); ++i)
    if (places[i] - places[i - 1] != places[1] - places[0]) return false;
  return true;
}

}  // namespace

std::int64_t Nest::size() const noexcept {
  return node_ ? node_->size : 0;
}

Extent Nest::hull() const noexcept {
  return node_ ? Extent{place_ + node_->hull.begin, place_ + node_->hull.end} : Extent{};
}

Nest Nest::moved(std::int64_t distance) const {
  if (!node_) return {};
  moved_hull(node_->hull, checked_add(place_, distance, place_words));
  return {place_ + distance, node_};
}

Nest Nest::run(std::int64_t place, std::int64_t length) {
  if (length <= 0) return {};
  checked_add(place, length, place_words);
  return {place, share(run_node(length))};
}

Nest Nest::repeat(const Nest& child, std::int64_t count, std::int64_t step) {
  if (child.empty() || count <= 0) return {};
  if (count == 1) return child;
  const Node& inner = *child.node_;
  Node node;
  node.size = checked_multiply(inner.size, count, size_words);
  const std::int64_t last = checked_multiply(count - 1, step, place_words);
  node.hull = joined(inner.hull, moved_hull(inner.hull, last));
  moved_hull(node.hull, child.place_);
  if (inner.is_run() && step == inner.size) return {child.place_, share(run_node(node.size))};
  node.runs = inner.runs * count;
  const auto* within = std::get_if<Node::Repeat>(&inner.form);
  if (within != nullptr && within->step != 0 && step % within->step == 0 &&
      step / within->step == within->count)
    node.form = Node::Repeat{count * within->count, within->step, within->child};
  else node.form = Node::Repeat{count, step, child.node_};
  return {child.place_, share(std::move(node))};
}

Nest Nest::list(const Nest& child, std::vector<std::int64_t> places) {
  if (child.empty() || places.empty()) return {};
  if (is_regular(places))
    return repeat(child.moved(places[0]), static_cast<std::int64_t>(places.size()),
                  places.size() > 1 ? places[1] - places[0] : 0);
  const Node& inner = *child.node_;
  const auto touch = [&](std::int64_t a, std::int64_t b) { return b - a == inner.size; };
  if (inner.is_run() && std::adjacent_find(places.begin(), places.end(), touch) != places.end()) {
    const std::vector<std::int64_t> lengths(places.size(), inner.size);
    return table(std::move(places), lengths).moved(child.place_);
  }
  Node node;
  const auto count = static_cast<std::int64_t>(places.size());
  node.size = checked_multiply(inner.size, count, size_words);
  node.runs = inner.runs * count;
  const auto [least, most] = std::minmax_element(places.begin(), places.end());
  node.hull = joined(moved_hull(inner.hull, *least), moved_hull(inner.hull, *most));
  moved_hull(node.hull, child.place_);
  node.form = Node::List{std::move(places), child.node_};
  return {child.place_, share(std::move(node))};
}

Nest Nest::table(std::vector<std::int64_t> places, std::span<const std::int64_t> lengths) {
  Node::Table table;
  Node node;
  table.starts.push_back(0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (lengths[i] <= 0) continue;
    const Extent run{places[i], checked_add(places[i], lengths[i], place_words)};
    node.hull = node.size == 0 ? run : joined(node.hull, run);
    node.size = checked_add(node.size, lengths[i], size_words);
    const bool touches =
        !table.places.empty() &&
        table.places.back() + length_at(table, std::ssize(table.places) - 1) == run.begin;
    if (touches) {
      table.starts.back() = node.size;
      continue;
    }
    table.places.push_back(places[i]);
    table.starts.push_back(node.size);
  }
  if (table.places.empty()) return {};
  if (table.places.size() == 1) return run(table.places[0], node.size);
  node.runs = std::ssize(table.places);
  node.form = std::move(table);
  return {0, share(std::move(node))};
}

Nest Nest::sequence(std::vector<Nest> parts) {
  std::erase_if(parts, [](const Nest& part) { return part.empty(); });
  if (parts.empty()) return {};
  if (parts.size() == 1) return std::move(parts.front());
  Node::Sequence sequence;
  Node node;
  node.runs = 0;
  node.hull = parts.front().hull();
  sequence.starts.push_back(0);
  bool only_runs = true;
  for (Nest& part : parts) {
    only_runs = only_runs && part.node_->is_run();
    node.hull = joined(node.hull, part.hull());
    node.size = checked_add(node.size, part.size(), size_words);
    node.runs += part.node_->runs;
    sequence.places.push_back(part.place_);
    sequence.starts.push_back(node.size);
    sequence.children.push_back(std::move(part.node_));
  }
  if (only_runs) {
    std::vector<std::int64_t> lengths;
    for (const Ref& child : sequence.children) lengths.push_back(child->size);
    return table(std::move(sequence.places), lengths);
  }
  node.form = std::move(sequence);
  return {0, share(std::move(node))};
}

/// Cuts the first and last child, and keeps those in between.
Nest Nest::cut(std::int64_t begin, std::int64_t end) const {
  if (begin >= end || !node_) return {};
  const Node& node = *node_;
  if (begin == 0 && end == node.size) return *this;
  if (node.is_run()) return run(place_ + begin, end - begin);
  std::int64_t in_first = begin, in_last = end - 1;  // positions in the cut children
  const std::int64_t first = enter_child(node, in_first), last = enter_child(node, in_last);
  if (const auto* runs = std::get_if<Node::Table>(&node.form)) {
    std::vector<std::int64_t> places(runs->places.begin() + first, runs->places.begin() + last + 1);
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = first; i <= last; ++i) lengths.push_back(length_at(*runs, i));
    lengths.back() = in_last + 1;
    places.front() += in_first;
    lengths.front() -= in_first;
    return table(std::move(places), lengths).moved(place_);
  }
  const auto child = [&](std::int64_t index) {
    const auto [place, inner] = child_at(node, index);
    Ref ref = std::holds_alternative<Node::Repeat>(node.form)
                  ? std::get<Node::Repeat>(node.form).child
              : std::holds_alternative<Node::List>(node.form)
                  ? std::get<Node::List>(node.form).child
                  : std::get<Node::Sequence>(node.form).children[static_cast<std::size_t>(index)];
    return Nest{place_ + place, std::move(ref)};
  };
  if (first == last) return child(first).cut(in_first, in_last + 1);
  std::vector<Nest> parts;
  const Nest head = child(first), tail = child(last);
  // Whole children at the ends are kept with those in between.
  const bool whole_head = in_first == 0, whole_tail = in_last + 1 == tail.size();
  const std::int64_t from = first + (whole_head ? 0 : 1), to = last + (whole_tail ? 1 : 0);
  if (!whole_head) parts.push_back(head.cut(in_first, head.size()));
  if (const auto* same = std::get_if<Node::Repeat>(&node.form)) {
    parts.push_back(repeat(child(from), to - from, same->step));
  } else if (const auto* some = std::get_if<Node::List>(&node.form)) {
    parts.push_back(list({place_, some->child},
                         {some->places.begin() + from, some->places.begin() + std::max(from, to)}));
  } else {
    for (std::int64_t i = from; i < to; ++i) parts.push_back(child(i));
  }
  if (!whole_tail) parts.push_back(tail.cut(0, in_last + 1));
  return sequence(std::move(parts));
}

std::int64_t Nest::place_of(std::int64_t position) const noexcept {
  std::int64_t place = place_;
  for (const Node* node = node_.get(); !node->is_run();) {
    const std::int64_t index = enter_child(*node, position);
    if (const auto* table = std::get_if<Node::Table>(&node->form))
      return place + table->places[static_cast<std::size_t>(index)] + position;
    const auto [distance, child] = child_at(*node, index);
    place += distance;
    node = child;
  }
  return place + position;
}

std::int64_t Nest::run_of(std::int64_t position) const noexcept {
  std::int64_t before = 0;
  for (const Node* node = node_.get(); node != nullptr && !node->is_run();) {
    const std::int64_t index = enter_child(*node, position);
    if (std::holds_alternative<Node::Table>(node->form)) return before + index;
    if (const auto* sequence = std::get_if<Node::Sequence>(&node->form))
      for (std::int64_t i = 0; i < index; ++i)
        before += sequence->children[static_cast<std::size_t>(i)]->runs;
    const Node* const child = child_at(*node, index).second;
    if (!std::holds_alternative<Node::Sequence>(node->form)) before += index * child->runs;
    node = child;
  }
  return before;
}

NestCursor::NestCursor(const Nest& nest, std::int64_t begin, std::int64_t end)
    : left_(std::max<std::int64_t>(0, end - begin)) {
  if (left_ == 0) return;
  frames_.reserve(few);
  descend(nest.node(), nest.place(), begin);
}

/// Down to a node that yields runs: a run, a table, a repetition or a list of one run.
void NestCursor::descend(const Node* node, std::int64_t place, std::int64_t skip) {
  for (;;) {
    if (node->is_run()) {
      frames_.push_back({node, place, 0});
      break;
    }
    const std::int64_t index = enter_child(*node, skip);
    frames_.push_back({node, place, index});
    if (std::holds_alternative<Node::Table>(node->form)) break;
    const auto [distance, child] = child_at(*node, index);
    if (child->is_run() && !std::holds_alternative<Node::Sequence>(node->form)) break;
    place += distance;
    node = child;
  }
  skip_ = skip;
}

/// From the end of the innermost frame to the next one with bytes.
void NestCursor::finish_frames() {
  frames_.pop_back();
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (++frame.index < count_of(*frame.node)) {
      const auto [distance, child] = child_at(*frame.node, frame.index);
      return descend(child, frame.place + distance, 0);
    }
    frames_.pop_back();
  }
}

/// Emits runs of the innermost frame; returns how many.
std::int64_t NestCursor::emit(const Frame& frame, Strided& out) {
  const Node& node = *frame.node;
  std::int64_t distance = 0, length = node.size, step = 0, there = 1;
  if (const auto* repeat = std::get_if<Node::Repeat>(&node.form)) {
    distance = frame.index * repeat->step;
    length = repeat->child->size;
    step = repeat->step;
    there = repeat->count - frame.index;
  } else if (const auto* list = std::get_if<Node::List>(&node.form)) {
    distance = list->places[static_cast<std::size_t>(frame.index)];
    length = list->child->size;
  } else if (const auto* table = std::get_if<Node::Table>(&node.form)) {
    distance = table->places[static_cast<std::size_t>(frame.index)];
    length = length_at(*table, frame.index);
  }
  const bool cut = skip_ > 0 || left_ < length;
  const std::int64_t run = cut ? std::min(length - skip_, left_) : length;
  const std::int64_t count = cut ? 1 : std::min(there, left_ / length);
  out = {frame.place + distance + skip_, run, count, count > 1 ? step : 0};
  skip_ = 0;
  left_ -= run * count;
  return count;
}

bool NestCursor::next(Strided& out) {
  if (left_ == 0) return false;
  Frame& frame = frames_.back();
  frame.index += emit(frame, out);
  if (left_ > 0 && frame.index >= count_of(*frame.node)) finish_frames();
  return true;
}

}  // namespace penstock
