// ChunkedDataset: a chunked array. The cost of a section depends on the chunks it touches.
#pragma once

#include "formats/dataset.hpp"
#include "formats/zarr/chunk_grid.hpp"

namespace penstock {

class ChunkedDataset final : public Dataset {
 public:
  explicit ChunkedDataset(ChunkGrid grid)
      : Dataset(grid.shape, grid.element_size, Order::c), grid_(std::move(grid)) {}
  void lower(const Section& section, std::byte* base, const std::vector<std::int64_t>& strides,
             std::vector<FilePattern>& file, std::vector<MemoryMap>& memory) const override;

 private:
  ChunkGrid grid_;
};

}  // namespace penstock
