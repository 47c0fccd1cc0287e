// From arrays to bytes: a section of an array is a file pattern and a memory map. Nothing below
// this knows of arrays.
#pragma once

#include <penstock/section.hpp>

#include "array/layout.hpp"
#include "pattern/footprint.hpp"

namespace penstock {

/// Both sides of some bytes, in the same order.
struct Sides {
  Nest file, memory;
};

struct Lowered {
  FilePattern file;
  MemoryMap memory;  // of the same bytes in the same order
};

/// `base`: where the section's first element is in memory; `strides`: bytes per dimension there, of
/// any sign.
Lowered lower(const ArrayLayout& layout, const Section& section, std::byte* base,
              const std::vector<std::int64_t>& strides);
/// The file side alone.
FilePattern lower(const ArrayLayout& layout, const Section& section);
Footprint lower(const ArrayLayout& layout, std::span<const Section> sections);

}  // namespace penstock
