#include <penstock/checksum.hpp>

#include "base/crc32c.hpp"
#include "formats/dataset.hpp"

namespace penstock {
namespace {

/// The remainder of a message of zeros with some runs of other bytes, which are added in order.
class Remainder {
 public:
  void add(const Batch& batch) {
    for (std::int64_t i = 0; i < batch.count; ++i) {
      skip_to(batch.file + i * batch.file_step);
      const std::byte* const run = batch.memory + i * batch.memory_step;
      value_ = crc32c_remainder(value_, {run, static_cast<std::size_t>(batch.run)});
      at_ += batch.run;
    }
  }
  std::uint32_t at_end(std::int64_t bytes) {
    skip_to(bytes);
    return value_;
  }

 private:
  void skip_to(std::int64_t place) {
    if (place == at_) return;
    if (zeros_.count() != place - at_) zeros_ = ZeroBytes(place - at_);
    value_ = zeros_.after(value_);
    at_ = place;
  }

  ZeroBytes zeros_{0};  // for the last gap: most are alike
  std::int64_t at_ = 0;
  std::uint32_t value_ = 0;
};

}  // namespace

std::uint32_t crc32c_share(const ArrayPlace& array, const Part<WriteView>& part) {
  ArrayLayout layout = layout_of(array);
  layout.offset = 0;
  layout.check();
  part.section.check(layout.shape);
  if (part.section.empty()) return 0;
  const std::int64_t bytes = layout.byte_count();
  const ContiguousDataset dataset(std::move(layout));
  std::vector<FilePattern> file;
  std::vector<MemoryMap> memory;
  dataset.lower(part.section, const_cast<std::byte*>(part.memory.data),
                memory_strides(dataset, part, dataset.element_size()), file, memory);
  Remainder remainder;
  for (std::size_t i = 0; i < file.size(); ++i)
    zip(file[i], memory[i], 0, file[i].size(), [&](const Batch& batch) { remainder.add(batch); });
  return remainder.at_end(bytes);
}

std::uint32_t crc32c_of_shares(std::uint32_t shares, std::int64_t bytes) {
  return crc32c_of(shares, bytes);
}

}  // namespace penstock
