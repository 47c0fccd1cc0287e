#include "formats/zarr/array.hpp"

namespace penstock::zarr {

std::string Array::key_of(std::int64_t shard_number) const {
  std::string key = named_by_prefix ? "c" : "";
  if (is_scalar) return named_by_prefix ? key : "0";
  for (const std::int64_t at : grid.coordinates(shard_number)) {
    if (!key.empty()) key += separator;
    key += std::to_string(at);
  }
  return key;
}

bool Array::names_chunks(std::string_view entry) const {
  const std::string_view digits = "0123456789";
  if (named_by_prefix && (separator == '/' || is_scalar)) return entry == "c";
  if (named_by_prefix && !entry.starts_with("c.")) return false;
  const std::string_view rest = named_by_prefix ? entry.substr(2) : entry;
  return !rest.empty() && digits.find(rest.front()) != std::string_view::npos &&
         rest.find_first_not_of("0123456789.") == std::string_view::npos;
}

ArraySpec Array::spec() const {
  ArraySpec spec;
  spec.shape = grid.shape;
  spec.is_scalar = is_scalar;
  spec.element_size = grid.element_size;
  spec.dtype = dtype;
  spec.order = Order::c;
  spec.container = Container::zarr;
  spec.chunks.chunks = grid.chunk;
  if (sharded) spec.chunks.shards = grid.shard;
  spec.chunks.fill_value = fill;
  spec.chunks.dimension_names = dimension_names;
  spec.chunks.attributes = attributes;
  return spec;
}

}  // namespace penstock::zarr
