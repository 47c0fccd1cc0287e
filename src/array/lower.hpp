// From arrays to bytes: converts a section of an array to a file pattern and a memory map. Lower
// layers do not know arrays.
#pragma once

#include <penstock/section.hpp>

#include "array/layout.hpp"
#include "pattern/footprint.hpp"

namespace penstock {

/// A file pattern and a memory map of the same bytes, in the same order.
struct Sides {
  Nest file, memory;
};

struct Lowered {
  FilePattern file;
  MemoryMap memory;  // of the same bytes in the same order
};

/// `base`: address of the section's first element; `strides`: bytes per dimension in memory,
/// possibly negative.
Lowered lower(const ArrayLayout& layout, const Section& section, std::byte* base,
              const std::vector<std::int64_t>& strides);
/// Only the file side.
FilePattern lower(const ArrayLayout& layout, const Section& section);
Footprint lower(const ArrayLayout& layout, std::span<const Section> sections);

}  // namespace penstock
