// JSON of zarr.json, which may come from anybody: parsing takes linear time, and errors have line
// and column.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace penstock::zarr {

/// Members in the order of the text. nlohmann's own ordered_map compares each new name with all
/// before it: a file with a million members took a quarter of an hour.
template <class Key, class Value, class Less, class Allocator>
class Members : public nlohmann::ordered_map<Key, Value, Less, Allocator> {
  using Base = nlohmann::ordered_map<Key, Value, Less, Allocator>;

 public:
  using Base::Base;
  using Base::operator[];

  template <class Name>
  std::pair<typename Base::iterator, bool> emplace(Name&& name, Value&& value) {
    const Key key(std::forward<Name>(name));
    if (places_.size() != this->size()) index();
    const auto [place, is_new] = places_.try_emplace(key, this->size());
    if (is_new) this->emplace_back(key, std::move(value));
    return {this->begin() + static_cast<std::ptrdiff_t>(place->second), is_new};
  }
  Value& operator[](const Key& name) { return emplace(name, Value{}).first->second; }

 private:
  void index() {
    places_.clear();
    for (const auto& [name, value] : *this) places_.try_emplace(name, places_.size());
  }

  std::unordered_map<Key, std::size_t> places_;
};

using Json = nlohmann::basic_json<Members>;

/// Limit of nesting: reading and writing are recursive.
constexpr int most_levels = 500;
/// Throws Error(format) with the place, what was found, and what was expected.
Json parse_json(std::string_view text, int levels = most_levels);
/// For messages: its text, in ASCII and not longer than a line.
std::string shown(const Json& value);
/// The JSON library's error message about a value, without its prefix.
std::string words_of(const Json::exception& error);

}  // namespace penstock::zarr
