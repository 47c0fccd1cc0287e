// Announcement: what rank 0 sends to the others after opening a file.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <penstock/costs.hpp>
#include <penstock/file_system.hpp>

#include "storage/client_caches.hpp"

namespace penstock {

struct Announcement {
  Costs costs;  // all ranks plan with the same ones
  std::array<std::int64_t, 3> numbers;
  std::string type, path;  // path: of the file that was opened
  /// The file that rank 0 has open, and its page cache; set if caches may disagree.
  std::string identity, page_cache;
  std::string contents;

  static Announcement of(const Costs& costs, const FileSystemFacts& facts, std::string path) {
    return {costs,      {facts.block_size, facts.stripe_size, facts.direct_alignment},
            facts.type, std::move(path),
            {},         {},
            {}};
  }
  std::string packed() const {
    std::string text(sizeof costs + sizeof numbers, '\0');
    std::memcpy(text.data(), &costs, sizeof costs);
    std::memcpy(text.data() + sizeof costs, numbers.data(), sizeof numbers);
    for (const std::string* part : {&type, &path, &identity, &page_cache})
      text.append(*part).push_back('\0');
    return text + contents;
  }
  static Announcement unpacked(const std::string& text) {
    static_assert(std::is_trivially_copyable_v<Costs>);
    Announcement a;
    std::memcpy(&a.costs, text.data(), sizeof a.costs);
    std::memcpy(a.numbers.data(), text.data() + sizeof a.costs, sizeof a.numbers);
    std::size_t begin = sizeof a.costs + sizeof a.numbers;
    for (std::string* part : {&a.type, &a.path, &a.identity, &a.page_cache}) {
      const std::size_t end = text.find('\0', begin);
      *part = text.substr(begin, end - begin);
      begin = end + 1;
    }
    a.contents = text.substr(begin);
    return a;
  }
  FileSystemFacts facts() const {
    return {type, numbers[0], numbers[1], numbers[2], caches_agree(type)};
  }
};

}  // namespace penstock
