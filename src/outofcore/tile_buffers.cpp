#include "outofcore/tile_buffers.hpp"

#include <chrono>
#include <thread>

namespace penstock {
namespace {

/// Of no section: a rank without a tile.
template <class View, class Byte>
std::vector<Part<View>> parts_of(const Section* section, Byte* data, std::int64_t element_size) {
  if (section == nullptr) return {};
  const auto bytes = static_cast<std::size_t>(section->element_count() * element_size);
  return {{*section, {data, {}, {}, bytes, 0}}};
}

}  // namespace

TileBuffers::TileBuffers(ArrayFile& file, const Hints& hints, Background background)
    : file_(&file), hints_(hints), background_(background) {}

void TileBuffers::allocate(int count, std::int64_t bytes) {
  buffers_.resize(static_cast<std::size_t>(count));
  for (TileBuffer& buffer : buffers_) buffer.memory.resize(static_cast<std::size_t>(bytes));
}

void TileBuffers::settle(TileBuffer& buffer) {
  if (buffer.reading) buffer.reading->wait();
  buffer.reading.reset();
  if (buffer.writing) buffer.writing->wait();
  buffer.writing.reset();
}

void TileBuffers::begin_read(std::int64_t step, const Section* section) {
  TileBuffer& buffer = of(step);
  settle(buffer);
  const auto parts = parts_of<ReadView>(section, buffer.memory.data(), file_->spec().element_size);
  buffer.reading = file_->read_begin(parts, background_, &hints_);
}

void TileBuffers::finish_read(std::int64_t step) {
  TileBuffer& buffer = of(step);
  if (buffer.reading) buffer.reading->wait();
  buffer.reading.reset();
}

void TileBuffers::make_room(std::int64_t step) {
  settle(of(step));
}

void TileBuffers::begin_write(std::int64_t step, const Section* section) {
  TileBuffer& buffer = of(step);
  const std::byte* const data = buffer.memory.data();
  const auto parts = parts_of<WriteView>(section, data, file_->spec().element_size);
  buffer.writing = file_->write_begin(parts, background_, &hints_);
}

void TileBuffers::finish() {
  for (TileBuffer& buffer : buffers_) settle(buffer);
}

void TileBuffers::await_own_writes() noexcept {
  for (TileBuffer& buffer : buffers_) try {
      while (buffer.writing && !buffer.writing->test())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } catch (...) {  // the file reports on stderr what it could not write
      buffer.writing.reset();
    }
}

void TileBuffers::forget_handles() noexcept {
  for (TileBuffer& buffer : buffers_) {
    buffer.reading.reset();
    buffer.writing.reset();
  }
}

}  // namespace penstock
