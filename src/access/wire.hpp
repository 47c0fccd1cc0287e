// Sections as they travel to aggregators: int64 words, all ranks alike.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <penstock/section.hpp>

namespace penstock {

std::vector<std::int64_t> to_words(std::span<const Section> sections);
std::vector<Section> from_words(std::span<const std::int64_t> words);

}  // namespace penstock
