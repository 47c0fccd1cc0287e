#include "formats/zarr/chunk_remains.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/failure.hpp"
#include "formats/zarr/chunk_files.hpp"

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// The first coordinate of the chunks that a file or folder in the array's folder belongs to.
std::optional<std::int64_t> row_of(std::string_view name, const zarr::Array& array) {
  if (array.named_by_prefix && array.separator == '.') {
    if (!name.starts_with("c.")) return std::nullopt;
    name.remove_prefix(2);
  }
  std::int64_t row = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), row);
  const bool ends = end == name.data() + name.size() || *end == '.';
  return error == std::errc() && ends ? std::optional(row) : std::nullopt;
}

void remove_rows_from(std::int64_t row, const std::string& folder, const zarr::Array& array) {
  const bool below = array.named_by_prefix && array.separator == '/';
  const fs::path parent = below ? fs::path(folder) / "c" : fs::path(folder);
  if (!fs::exists(parent)) return;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent))
    if (row_of(entry.path().filename().string(), array).value_or(-1) >= row)
      found.push_back(entry.path());
  for (const fs::path& path : found) fs::remove_all(path);
}

void check(const Transfer& moved, const std::string& folder) {
  if (moved.error != 0) throw_errno("looking at the last chunks of", folder, -moved.error);
}

/// Fills the elements of one chunk from byte `begin` of the virtual space on.
void fill(Extent range, const std::string& folder, const zarr::Array& array, Storage& storage) {
  Bytes there(static_cast<std::size_t>(range.length())), wanted(there.size());
  for (std::size_t at = 0; at < wanted.size(); at += array.fill.size())
    std::memcpy(wanted.data() + at, array.fill.data(), array.fill.size());
  check(read_fully(storage, there, range.begin), folder);
  if (there != wanted) check(write_fully(storage, wanted, range.begin), folder);
}

/// For the last row of shards.
void fill_edge(const std::string& folder, const zarr::Array& array, Storage& storage) {
  const ChunkGrid& grid = array.grid;
  const std::int64_t rows = grid.shards().front(), per_row = grid.shard_count() / rows;
  const std::int64_t bytes = grid.chunk_bytes(), line = bytes / grid.chunk.front();
  const std::int64_t layers = grid.shard.front() / grid.chunk.front();
  const std::int64_t in_layer = grid.chunks_in_shard() / layers;
  for (std::int64_t shard = (rows - 1) * per_row; shard < rows * per_row; ++shard)
    for (std::int64_t chunk = 0; chunk < grid.chunks_in_shard(); ++chunk) {
      const std::int64_t first =
          (rows - 1) * grid.shard.front() + chunk / in_layer * grid.chunk.front();
      const std::int64_t kept =
          std::clamp<std::int64_t>(grid.shape.front() - first, 0, grid.chunk.front());
      const std::int64_t at = shard * grid.shard_bytes() + chunk * bytes;
      if (kept < grid.chunk.front()) fill({at + kept * line, at + bytes}, folder, array, storage);
    }
}

}  // namespace

void remove_remains(const std::string& folder, const zarr::Array& array, Storage& storage) {
  const ChunkGrid& grid = array.grid;
  try {
    remove_rows_from(grid.shards().front(), folder, array);
  } catch (const fs::filesystem_error& error) {
    throw_errno("removing chunks beyond the shape of", folder, -error.code().value());
  }
  if (grid.shape.front() % grid.shard.front() != 0 && grid.shard_count() > 0)
    fill_edge(folder, array, storage);
}

}  // namespace penstock
