// Encoding of a nest as 64-bit words, the same on all ranks: a node's kind and fields, then its
// children, each with its place.
#include <penstock/error.hpp>

#include "pattern/nest.hpp"

namespace penstock {
namespace {

using Node = Nest::Node;
enum Kind : std::int64_t { nothing, run, repeat, list, table, sequence };

void encode_node(const Node& node, std::vector<std::int64_t>& words) {
  words.push_back(static_cast<std::int64_t>(node.form.index()) + run);
  if (node.is_run()) {
    words.push_back(node.size);
  } else if (const auto* same = std::get_if<Node::Repeat>(&node.form)) {
    words.insert(words.end(), {same->count, same->step});
    encode_node(*same->child, words);
  } else if (const auto* some = std::get_if<Node::List>(&node.form)) {
    words.push_back(std::ssize(some->places));
    words.insert(words.end(), some->places.begin(), some->places.end());
    encode_node(*some->child, words);
  } else if (const auto* runs = std::get_if<Node::Table>(&node.form)) {
    words.push_back(std::ssize(runs->places));
    words.insert(words.end(), runs->places.begin(), runs->places.end());
    for (std::size_t i = 0; i < runs->places.size(); ++i)
      words.push_back(runs->starts[i + 1] - runs->starts[i]);
  } else {
    const auto& parts = std::get<Node::Sequence>(node.form);
    words.push_back(std::ssize(parts.children));
    for (std::size_t i = 0; i < parts.children.size(); ++i) {
      words.push_back(parts.places[i]);
      encode_node(*parts.children[i], words);
    }
  }
}

/// Recursion limit. Encoded MPI datatypes have a level per constructor.
constexpr int deepest = 10'000;

[[noreturn]] void refuse() {
  throw Error(ErrorClass::internal, "it is cut short, nested too deep, or of another kind");
}

}  // namespace

void Nest::encode(std::vector<std::int64_t>& words) const {
  words.push_back(node_ ? place_ : 0);
  if (node_) encode_node(*node_, words);
  else words.push_back(nothing);
}

std::int64_t NestReader::word() {
  if (at_ >= words_.size()) refuse();
  return words_[at_++];
}

std::vector<std::int64_t> NestReader::words(std::int64_t count) {
  if (count < 0 || count > std::ssize(words_) - static_cast<std::int64_t>(at_)) refuse();
  const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(at_);
  at_ += static_cast<std::size_t>(count);
  return {begin, begin + count};
}

Nest NestReader::nest() {
  const std::int64_t place = word();
  return node().moved(place);
}

Nest NestReader::node() {
  if (++depth_ > deepest) refuse();
  Nest nest = node_of_kind();
  --depth_;
  return nest;
}

Nest NestReader::node_of_kind() {
  switch (word()) {
    case nothing: return {};
    case run: return Nest::run(0, word());
    case repeat: {
      const std::int64_t count = word(), step = word();
      return Nest::repeat(node(), count, step);
    }
    case list: {
      std::vector<std::int64_t> places = words(word());
      return Nest::list(node(), std::move(places));
    }
    case table: {
      const std::int64_t count = word();
      std::vector<std::int64_t> places = words(count);
      return Nest::table(std::move(places), words(count));
    }
    case sequence: {
      std::vector<Nest> parts;
      for (std::int64_t left = word(); left > 0; --left) parts.push_back(nest());
      return Nest::sequence(std::move(parts));
    }
    default: refuse();
  }
}

}  // namespace penstock
