// Reading and writing zarr.json.
#include "file/words.hpp"
#include "formats/zarr/codecs.hpp"
#include "formats/zarr/types.hpp"
#include "storage/regular_file.hpp"

namespace penstock::zarr {
namespace {

const Json& member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) refuse_metadata("it has no '" + std::string(name) + "'");
  return *found;
}

void check_kind(const Json& json) {
  if (!json.is_object()) refuse_metadata("it is no JSON object");
  if (member(json, "zarr_format") != 3)
    refuse_metadata("zarr_format is " + shown(member(json, "zarr_format")) +
                    ", and Penstock reads 3; zarr-python converts older arrays (zarr migrate v3)");
  if (member(json, "node_type") == "group")
    refuse_metadata("it is a Zarr group; name an array in it");
  if (member(json, "node_type") != "array")
    refuse_metadata("node_type is " + shown(member(json, "node_type")) + ", not array");
}

/// Extension members say whether they may be ignored.
void check_extensions(const Json& json) {
  static const std::vector<std::string> known{"zarr_format",
                                              "node_type",
                                              "shape",
                                              "data_type",
                                              "chunk_grid",
                                              "chunk_key_encoding",
                                              "fill_value",
                                              "attributes",
                                              "codecs",
                                              "dimension_names",
                                              "storage_transformers",
                                              "consolidated_metadata"};
  for (const auto& [name, value] : json.items()) {
    const bool ignored = value.is_object() && !flag_or(value, "must_understand", true);
    if (std::ranges::find(known, name) == known.end() && !ignored)
      refuse_metadata("its member " + shown(name) + " is none that Penstock knows");
  }
  if (json.contains("storage_transformers") && !json["storage_transformers"].empty())
    refuse_metadata("it has storage transformers, which Penstock does not have");
}

Shape parse_grid(const Json& grid) {
  if (member(grid, "name") != "regular")
    refuse_metadata("chunk_grid is " + shown(member(grid, "name")) +
                    ", and Penstock reads regular ones");
  return shape_of(member(configuration_of(grid), "chunk_shape"), "chunk_shape");
}

void parse_keys(const Json& keys, Array& array) {
  const Json& name = keys.is_string() ? keys : member(keys, "name");
  if (name != "default" && name != "v2")
    refuse_metadata("chunk_key_encoding is " + shown(name) + ", and Penstock reads default and v2");
  array.named_by_prefix = name == "default";
  array.separator = array.named_by_prefix ? '/' : '.';
  const std::string separator =
      text_or(configuration_of(keys), "separator", std::string(1, array.separator));
  if (separator != "/" && separator != ".")
    refuse_metadata("chunk keys have the separator " + shown(separator) + ", not \"/\" or \".\"");
  array.separator = separator[0];
}

void parse_names(const Json& json, Array& array) {
  const auto attributes = json.find("attributes");
  if (attributes != json.end() && !attributes->is_object())
    refuse_metadata("attributes are " + shown(*attributes) + ", no JSON object");
  if (attributes != json.end() && !attributes->empty()) array.attributes = attributes->dump();
  const auto names = json.find("dimension_names");
  if (names == json.end() || names->is_null()) return;
  const std::size_t dimensions = array.is_scalar ? 0 : array.grid.shape.size();
  if (!names->is_array() || names->size() != dimensions)
    refuse_metadata("dimension_names are " + shown(*names) + ", no list of one for each of the " +
                    std::to_string(dimensions) + " dimensions");
  for (const Json& name : *names) {
    if (!name.is_null() && !name.is_string())
      refuse_metadata("dimension_names have " + shown(name) + ", which is neither a text nor null");
    array.dimension_names.push_back(name.is_null() ? "" : name.get<std::string>());
  }
}

Array parse_members(std::string_view text) {
  const Json json = parse_json(text);
  check_kind(json);
  check_extensions(json);
  Array array;
  const Json& named = member(json, "data_type");
  const Type& type = type_named(named.is_string() ? named.get<std::string>() : shown(named));
  array.grid.shape = shape_of(member(json, "shape"), "shape");
  array.grid.element_size = type.size;
  array.grid.shard = parse_grid(member(json, "chunk_grid"));
  array.is_scalar = array.grid.shape.empty() && array.grid.shard.empty();
  if (array.is_scalar) array.grid.shape = array.grid.shard = {1};
  array.grid.chunk = array.grid.shard;
  parse_keys(member(json, "chunk_key_encoding"), array);
  const bool little = parse_codecs(member(json, "codecs"), array);
  array.dtype = dtype_of(type, little);
  array.fill = fill_of(member(json, "fill_value"), type, little);
  parse_names(json, array);
  array.grid.check();
  return array;
}

Json names_json(const std::vector<std::string>& names) {
  Json json = Json::array();
  for (const std::string& name : names) json.push_back(name.empty() ? Json() : Json(name));
  return json;
}

void check_given(const ArraySpec& spec) {
  const ChunkSpec& given = spec.chunks;
  const auto fail = [](const std::string& message) { throw Error(ErrorClass::argument, message); };
  if (spec.shape.empty()) fail("shape is needed to make a Zarr array");
  if (spec.dtype.empty()) fail("dtype is needed to make a Zarr array");
  if (spec.offset != 0) fail("offset is for arrays in a file; a Zarr array has none");
  if (spec.order == Order::fortran)
    fail(
        "order F would need the codec 'transpose', which Penstock does not have; pass the axes in "
        "reverse order, with order C");
  const auto elements = static_cast<std::size_t>(type_of(spec.dtype).size);
  if (!given.fill_value.empty() && given.fill_value.size() != elements)
    fail("fill_value must be an element of " + std::to_string(elements) + " bytes, not " +
         std::to_string(given.fill_value.size()));
  const std::size_t dimensions = spec.is_scalar ? 0 : spec.shape.size();
  if (!given.dimension_names.empty() && given.dimension_names.size() != dimensions)
    fail("dimension_names has " + std::to_string(given.dimension_names.size()) + " names for " +
         std::to_string(dimensions) + " dimensions");
  if (spec.is_scalar && !(given.chunks.empty() && given.shards.empty()))
    fail("chunks and shards are for arrays with dimensions, not for a single element");
  if (!given.attributes.empty()) check_attributes(given.attributes);
}

}  // namespace

Array parse(std::string_view text) {
  try {
    return parse_members(text);
  } catch (const Json::exception& error) {
    refuse_metadata(words_of(error));
  } catch (const Error& error) {
    refuse_metadata(error.what());
  }
}

Array make(const ArraySpec& spec) {
  check_given(spec);
  const ChunkSpec& given = spec.chunks;
  const Type& type = type_of(spec.dtype);
  Array array;
  array.dtype = dtype_of(type, spec.dtype[0] != '>');
  array.grid.shape = spec.shape;
  array.is_scalar = spec.is_scalar;
  array.grid.element_size = type.size;
  array.grid.chunk = given.chunks.empty() ? choose_chunk(spec.shape, type.size) : given.chunks;
  array.sharded = !given.shards.empty();
  array.grid.shard = array.sharded ? given.shards : array.grid.chunk;
  array.grid.check();
  array.fill = given.fill_value;
  if (array.fill.empty()) array.fill.resize(static_cast<std::size_t>(type.size));
  array.codecs = parse_compressors(given.compressors, type);
  array.dimension_names = given.dimension_names;
  if (!given.attributes.empty()) array.attributes = parse_json(given.attributes).dump();
  return array;
}

std::string document_of(const Array& array) {
  const Type& type = type_of(array.dtype);
  const bool little = array.dtype[0] != '>';
  Json json;
  json["zarr_format"] = 3;
  json["node_type"] = "array";
  json["shape"] = array.is_scalar ? Shape() : array.grid.shape;
  json["data_type"] = type.name;
  json["chunk_grid"] = {
      {"name", "regular"},
      {"configuration", {{"chunk_shape", array.is_scalar ? Shape() : array.grid.shard}}}};
  json["chunk_key_encoding"] = {
      {"name", array.named_by_prefix ? "default" : "v2"},
      {"configuration", {{"separator", std::string(1, array.separator)}}}};
  json["fill_value"] = json_of(array.fill, type, little);
  json["codecs"] = codecs_json(array);
  json["attributes"] = array.attributes.empty() ? Json::object() : parse_json(array.attributes);
  if (!array.dimension_names.empty()) json["dimension_names"] = names_json(array.dimension_names);
  json["storage_transformers"] = Json::array();
  std::string text = json.dump(2) + "\n";
  if (std::ssize(text) > longest_metadata)
    throw Error(ErrorClass::argument, "attributes make zarr.json " + std::to_string(text.size()) +
                                          " bytes long; 16 MiB are the most that is read: keep "
                                          "large data in an array");
  return text;
}

std::string group_text() {
  const Json json{{"zarr_format", 3}, {"node_type", "group"}, {"attributes", Json::object()}};
  return json.dump(2) + "\n";
}

std::string node_type_of(std::string_view text) {
  const Json json = parse_json(text);
  if (!json.is_object()) refuse_metadata("it is no JSON object");
  const Json& type = member(json, "node_type");
  return type.is_string() ? type.get<std::string>() : shown(type);
}

void check_attributes(const std::string& text) {
  std::string problem;
  try {
    if (std::ssize(text) > longest_metadata) problem = "a text of more than 16 MiB";
    // Attributes are a member of zarr.json, which adds a level.
    else if (const Json json = parse_json(text, most_levels - 1); !json.is_object())
      problem = shown(json);
  } catch (const Error& error) {
    problem = text.empty() ? "an empty text" : "what is wrong at " + std::string(error.what());
  }
  if (!problem.empty())
    throw Error(ErrorClass::argument,
                "attributes must be a JSON object, as {\"units\": \"K\"}, not " + problem);
}

}  // namespace penstock::zarr
