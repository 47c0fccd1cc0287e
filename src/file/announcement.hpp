// Announcement: what rank 0 tells the others when it has opened a file.
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <penstock/costs.hpp>
#include <penstock/file_system.hpp>

namespace penstock {

struct Announcement {
  Costs costs;  // all ranks plan with the same
  std::array<std::int64_t, 3> numbers;
  std::string type, path, contents;  // path: of the file that is open

  static Announcement of(const Costs& costs, const FileSystemFacts& facts, std::string path,
                         std::string contents) {
    return {costs,
            {facts.block_size, facts.stripe_size, facts.direct_alignment},
            facts.type,
            std::move(path),
            std::move(contents)};
  }
  std::string packed() const {
    std::string text(sizeof costs + sizeof numbers, '\0');
    std::memcpy(text.data(), &costs, sizeof costs);
    std::memcpy(text.data() + sizeof costs, numbers.data(), sizeof numbers);
    return text + type + '\0' + path + '\0' + contents;
  }
  static Announcement unpacked(const std::string& text) {
    static_assert(std::is_trivially_copyable_v<Costs>);
    Announcement a;
    std::memcpy(&a.costs, text.data(), sizeof a.costs);
    std::memcpy(a.numbers.data(), text.data() + sizeof a.costs, sizeof a.numbers);
    const std::size_t begin = sizeof a.costs + sizeof a.numbers, type_end = text.find('\0', begin);
    a.type = text.substr(begin, type_end - begin);
    const std::size_t path_end = text.find('\0', type_end + 1);
    a.path = text.substr(type_end + 1, path_end - type_end - 1);
    a.contents = text.substr(path_end + 1);
    return a;
  }
  FileSystemFacts facts() const { return {type, numbers[0], numbers[1], numbers[2]}; }
};

}  // namespace penstock
