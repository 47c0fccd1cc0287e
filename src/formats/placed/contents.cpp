#include "formats/placed/contents.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "file/words.hpp"
#include "formats/zarr/chunk_storage.hpp"
#include "formats/zarr/chunked_dataset.hpp"
#include "mpi/drive.hpp"
#include "mpi/launch.hpp"
#include "mpi/over_nodes.hpp"

namespace penstock {
namespace {

std::string packed(const std::vector<ChunkPlace>& chunks) {
  std::string text(chunks.size() * sizeof(ChunkPlace), '\0');
  std::memcpy(text.data(), chunks.data(), text.size());
  return text;
}

void unpack(std::string_view text, std::vector<ChunkPlace>& chunks) {
  const std::size_t before = chunks.size();
  chunks.resize(before + text.size() / sizeof(ChunkPlace));
  std::memcpy(chunks.data() + before, text.data(), text.size());
}

zarr::Array array_of(const ArraySpec& spec) {
  zarr::Array array;
  array.grid = {spec.shape, spec.chunks.chunks, spec.chunks.chunks, spec.element_size};
  array.grid.check();
  array.dtype = spec.dtype;
  array.fill = spec.chunks.fill_value;
  array.fill.resize(static_cast<std::size_t>(spec.element_size));
  for (const ChunkFilter& filter : spec.chunks.placed->filters) {
    CodecSettings settings{.name = filter.name, .level = filter.level};
    settings.type_size = static_cast<int>(spec.element_size);
    settings.shuffle = filter.shuffle;
    if (!filter.compressor.empty()) settings.compressor = filter.compressor;
    make_filter(settings);  // throws for unusable settings
    array.codecs.push_back(std::move(settings));
  }
  return array;
}

}  // namespace

std::vector<Common> PlacedContents::common() const {
  std::vector<Common> values = ArrayContents::common();
  values.push_back({"chunks", text_of(given().chunks.chunks)});
  return values;
}

void PlacedContents::check(const Communicator& comm) {
  if (mode() != Mode::read) refuse_lone_writer(comm, path());
  if (mode() != Mode::read && mode() != Mode::read_write)
    throw Error(ErrorClass::argument,
                "'" + path() + "': another library makes files of placed chunks");
  const StorageKind kind = hints().storage;
  if (kind != StorageKind::automatic && kind != StorageKind::posix)
    throw Error(ErrorClass::argument, "storage=" + std::string(hints().text().at("storage")) +
                                          " is for arrays that lie in a file as they are in "
                                          "memory; chunks go through the page cache");
  array_ = array_of(with_extent(given(), Order::c, placed().extent));
  ArraySpec spec = array_->spec();
  spec.container = Container::raw;
  spec.chunks.placed = given().chunks.placed;
  *reach_ = array_->grid.total_bytes();
  describe(std::move(spec), wants_growth(given()));
}

std::unique_ptr<Storage> PlacedContents::open_storage(OpenFlag flag) {
  store_ = std::make_shared<PlacedStore>(open_posix(path(), flag), placed().places);
  return make_chunk_storage(store_, *array_, reach_);
}

std::unique_ptr<Dataset> PlacedContents::dataset() const {
  return std::make_unique<ChunkedDataset>(array_->grid);
}

Reshaped PlacedContents::reshaped(std::vector<std::int64_t> shape) const {
  ChunkGrid grid = array_->grid;
  grid.shape = shape;
  grid.check();
  return {std::move(shape), grid.units(), std::make_unique<ChunkedDataset>(grid)};
}

void PlacedContents::become(const std::vector<std::int64_t>& shape) {
  ArrayContents::become(shape);
  array_->grid.shape = shape;
}

void PlacedContents::begin_write() {
  if (broken_)
    throw Error(ErrorClass::state, "'" + path() +
                                       "': chunks could not be written before; the file is as it "
                                       "was at the last sync, and takes no more");
  settled_ = published_ = false;
}

void PlacedContents::settle(const Channel& channel) {
  try {
    give_places(channel);
  } catch (const Error& error) {
    broken_ = error.error_class() != ErrorClass::disagreement;
    throw;
  }
  settled_ = true;
}

/// Chunks of a step that could not be appended are beyond the array, and get no place.
void PlacedContents::give_places(const Channel& channel) {
  const std::vector<std::string> texts =
      drive(channel.comm, gather_on_first(channel, packed(store_->held())));
  std::string text;
  const std::optional<Error> error = attempt([&] {
    std::vector<ChunkPlace> chunks;
    for (const std::string& text : texts) unpack(text, chunks);
    std::erase_if(chunks, [count = array_->grid.shard_count()](const ChunkPlace& place) {
      return place.chunk >= count;
    });
    std::ranges::sort(chunks, {}, &ChunkPlace::chunk);
    if (!chunks.empty()) placed().place(array_->grid.shape, chunks);
    text = packed(chunks);
  });
  drive(channel.comm, agree_and_share(channel, error, text));
  const std::optional<Error> failed = attempt([&] {
    std::vector<ChunkPlace> chunks;
    unpack(text, chunks);
    store_->settle(chunks);
  });
  drive(channel.comm, agree_on_exit(channel, failed));
}

bool PlacedContents::metadata_is_current() const {
  return broken_ || (published_ && written_shape() == array_->grid.shape);
}

void PlacedContents::update_metadata(Storage&) {
  placed().publish(array_->grid.shape);
}

void PlacedContents::mark_metadata_current() {
  ArrayContents::mark_metadata_current();
  published_ = true;
}

void PlacedContents::set_attributes(const std::string&) {
  throw Error(ErrorClass::state,
              "'" + path() + "': its attributes are kept by the library that has made the file");
}

}  // namespace penstock
