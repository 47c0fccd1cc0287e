#include "mpi_io/view.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <penstock/error.hpp>

#include "base/checked.hpp"
#include "mpi_io/mpi_error.hpp"
#include "pattern/order.hpp"

namespace penstock {
namespace {

constexpr const char* stream_words = "position in a file view";
constexpr const char* file_words = "offset in a file";

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorClass::argument, "file view: " + what);
}

/// The class that ROMIO uses for types that cannot be used for a view; the standard defines none.
[[noreturn]] void refuse_type(const std::string& what) {
  throw_mpi(MPI_ERR_IO, "file view: " + what);
}

std::string places_of(const StreamOrder& order) {
  return ": byte " + std::to_string(order.place) + " comes after byte " +
         std::to_string(order.before);
}

/// The standard's requirements on etypes and filetypes.
void check_type(const std::string& name, const TypeLayout& type, ViewUse use) {
  if (type.nest.empty()) return;
  if (type.nest.hull().begin < 0)
    refuse_type(name + " has a displacement of " + std::to_string(type.nest.hull().begin) +
                "; displacements must not be negative");
  const StreamOrder order = stream_order(type.nest);
  if (order.descends)
    refuse_type(name + " has displacements that do not ascend" + places_of(order));
  if (order.overlaps && use == ViewUse::write)
    refuse_type(name + " has regions that overlap, and the file is open for writing" +
                places_of(order));
}

void check_sizes(const TypeLayout& etype, const TypeLayout& filetype) {
  if (etype.size() == 0) refuse("etype has no bytes");
  if (filetype.size() % etype.size() != 0)
    refuse("filetype has " + std::to_string(filetype.size()) +
           " bytes; it must be made of whole etypes, of " + std::to_string(etype.size()) +
           " bytes each");
  if (filetype.size() > 0 && filetype.extent() <= 0)
    refuse("filetype has an extent of " + std::to_string(filetype.extent()) +
           "; copies of it must follow each other in the file");
}

std::shared_ptr<const TypeLayout> byte_layout() {
  static const auto layout = std::make_shared<const TypeLayout>(basic_layout({}, 1));
  return layout;
}

}  // namespace

View::View() : View(0, byte_layout(), byte_layout(), ViewUse::write) {}

View::View(std::int64_t displacement, std::shared_ptr<const TypeLayout> etype,
           std::shared_ptr<const TypeLayout> filetype, ViewUse use)
    : displacement_(displacement),
      etype_size_(etype->size()),
      tile_size_(filetype->size()),
      tile_extent_(filetype->extent()),
      etype_(std::move(etype)),
      filetype_(std::move(filetype)),
      contiguous_(filetype_->dense()),
      first_(displacement) {
  if (displacement < 0)
    refuse("displacement " + std::to_string(displacement) + " was passed, expected 0 or more");
  check_sizes(*etype_, *filetype_);
  check_type("etype", *etype_, use);
  check_type("filetype", *filetype_, use);
  if (filetype_->nest.empty()) return;
  first_ = checked_add(displacement, filetype_->nest.place_of(0), file_words);
  AscendingParts parts;
  parts.add(filetype_->nest.moved(displacement));
  parts_ = parts.take();
  ascends_ = parts_.size() == 1 && tile_extent_ >= filetype_->nest.hull().length();
}

std::int64_t View::position_of(std::int64_t offset) const {
  if (offset < 0) refuse("offset " + std::to_string(offset) + " was passed, expected 0 or more");
  return checked_multiply(offset, etype_size_, stream_words);
}

void View::check_visible(std::int64_t bytes) const {
  if (bytes > 0 && tile_size_ == 0)
    refuse("filetype has no bytes, so that " + std::to_string(bytes) + " bytes have no place");
}

FilePattern View::pattern_of(std::int64_t offset, std::int64_t bytes) const {
  const std::int64_t position = position_of(offset);
  if (bytes <= 0) return {};
  check_visible(bytes);
  if (contiguous_) {
    const std::int64_t begin = checked_add(first_, position, file_words);
    return FilePattern::run({begin, checked_add(begin, bytes, file_words)});
  }
  return FilePattern::tiles(parts_.front(), tile_extent_, position, bytes);
}

std::vector<FilePattern> View::patterns_of(std::int64_t offset, std::int64_t bytes) const {
  if (ascends_ || bytes <= 0) {
    FilePattern pattern = pattern_of(offset, bytes);
    if (pattern.empty()) return {};
    return {std::move(pattern)};
  }
  const std::int64_t begin = position_of(offset);
  const std::int64_t end = checked_add(begin, bytes, stream_words);
  AscendingParts all;
  for (std::int64_t tile = begin / tile_size_; tile * tile_size_ < end; ++tile) {
    const std::int64_t place = checked_multiply(tile, tile_extent_, file_words);
    std::int64_t start = tile * tile_size_;
    for (const FilePattern& part : parts_) {
      const Nest nest = part.nest().moved(place);
      all.add(
          nest.cut(std::max<std::int64_t>(0, begin - start), std::min(part.size(), end - start)));
      start += part.size();
    }
  }
  return all.take();
}

std::int64_t View::byte_offset(std::int64_t offset) const {
  const std::int64_t position = position_of(offset);
  check_visible(1);
  const std::int64_t tile = position / tile_size_;
  const std::int64_t place = checked_multiply(tile, tile_extent_, file_words);
  return checked_add(displacement_ + filetype_->nest.place_of(position % tile_size_), place,
                     file_words);
}

std::int64_t View::bytes_until(std::int64_t offset) const {
  // The last copy with a byte below: all later ones begin above, in the same order.
  const std::int64_t begin = displacement_ + filetype_->nest.hull().begin;
  if (offset <= begin) return 0;
  const std::int64_t tile = (offset - 1 - begin) / tile_extent_;
  const std::int64_t place = tile * tile_extent_;
  std::int64_t end = tile_size_;
  for (std::size_t i = parts_.size(); i-- > 0;) {
    end -= parts_[i].size();
    const std::int64_t below = parts_[i].below(offset - place);
    if (below > 0) return tile * tile_size_ + end + below;
  }
  return tile * tile_size_;
}

std::int64_t View::end_position(std::int64_t file_size) const {
  if (tile_size_ == 0) return 0;
  const std::int64_t bytes = bytes_until(file_size);
  return bytes / etype_size_ + (bytes % etype_size_ > 0 ? 1 : 0);
}

std::vector<MemoryMap> split(const MemoryMap& memory, std::span<const FilePattern> patterns) {
  if (patterns.size() == 1) return {memory};
  std::vector<MemoryMap> parts;
  std::int64_t at = 0;
  for (const FilePattern& pattern : patterns) {
    parts.emplace_back(memory.at(0), memory.nest().cut(at, at + pattern.size()));
    at += pattern.size();
  }
  return parts;
}

}  // namespace penstock
