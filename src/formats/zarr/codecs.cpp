#include "formats/zarr/codecs.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <penstock/error.hpp>

namespace penstock::zarr {
namespace {

constexpr std::array shuffles{"noshuffle", "shuffle", "bitshuffle"};

std::string name_of(const Json& codec) {
  if (codec.is_string()) return codec.get<std::string>();
  if (!codec.is_object() || !codec.contains("name") || !codec["name"].is_string())
    refuse_metadata("codec " + shown(codec) + " has no name");
  return codec["name"].get<std::string>();
}

int shuffle_of(const std::string& name) {
  for (std::size_t i = 0; i < shuffles.size(); ++i)
    if (name == shuffles[i]) return static_cast<int>(i);
  refuse_metadata("codec 'blosc': shuffle is " + shown(name) +
                  ", not noshuffle, shuffle or bitshuffle");
}

/// Defaults are those of zarr-python.
CodecSettings settings_of(const std::string& name, const Json& given, int element_size) {
  CodecSettings settings;
  settings.name = name;
  if (name == "zstd") {
    settings.level = number_or(given, "level", 0);
    settings.checksum = flag_or(given, "checksum", false);
  } else if (name == "gzip") {
    settings.level = number_or(given, "level", 5);
  } else if (name == "blosc") {
    settings.level = number_or(given, "clevel", 5);
    settings.compressor = text_or(given, "cname", "zstd");
    settings.shuffle =
        shuffle_of(text_or(given, "shuffle", element_size == 1 ? "bitshuffle" : "shuffle"));
    settings.type_size = number_or(given, "typesize", element_size);
    settings.block_size = number_or(given, "blocksize", 0);
  }
  make_codec(settings);  // throws for unusable settings
  return settings;
}

Json json_of(const CodecSettings& codec) {
  Json json{{"name", codec.name}};
  if (codec.name == "zstd")
    json["configuration"] = {{"level", codec.level}, {"checksum", codec.checksum}};
  if (codec.name == "gzip") json["configuration"] = {{"level", codec.level}};
  if (codec.name == "blosc")
    json["configuration"] = {{"typesize", codec.type_size},
                             {"cname", codec.compressor},
                             {"clevel", codec.level},
                             {"shuffle", shuffles[static_cast<std::size_t>(codec.shuffle)]},
                             {"blocksize", codec.block_size}};
  return json;
}

Json bytes_json(int element_size, bool little) {
  Json json{{"name", "bytes"}};
  if (element_size > 1) json["configuration"] = {{"endian", little ? "little" : "big"}};
  return json;
}

/// For the codec 'bytes': whether it is little-endian.
bool is_little(const Json& codec, std::int64_t element_size) {
  if (name_of(codec) != "bytes")
    refuse_metadata(
        "its first codec is " + shown(name_of(codec)) +
        ", and Penstock reads arrays whose first one is bytes or sharding_indexed; write the "
        "array without it (zarr-python can copy it)");
  const Json given = configuration_of(codec);
  if (element_size == 1 && !given.contains("endian")) return true;
  const std::string endian = text_or(given, "endian", "little");
  if (endian != "little" && endian != "big")
    refuse_metadata("codec 'bytes': endian is " + shown(endian) + ", not little or big");
  return endian == "little";
}

/// The codec 'bytes', and those that follow.
bool parse_chain(const Json& list, Array& array) {
  if (!list.is_array() || list.empty())
    refuse_metadata("codecs must be a list, of one codec at least");
  const bool little = is_little(list[0], array.grid.element_size);
  for (std::size_t i = 1; i < list.size(); ++i)
    array.codecs.push_back(settings_of(name_of(list[i]), configuration_of(list[i]),
                                       static_cast<int>(array.grid.element_size)));
  return little;
}

void parse_index(const Json& given, Array& array) {
  const std::string location = text_or(given, "index_location", "end");
  if (location != "end" && location != "start")
    refuse_metadata("index_location is " + shown(location) + ", not start or end");
  array.index_at_end = location == "end";
  const Json codecs = given.value("index_codecs", Json::array());
  if (!codecs.is_array() || codecs.empty() || codecs.size() > 2)
    refuse_metadata("index_codecs of shards must be bytes, or bytes and crc32c");
  array.index_little = is_little(codecs[0], 8);
  array.index_has_sum = codecs.size() == 2;
  if (array.index_has_sum && name_of(codecs[1]) != "crc32c")
    refuse_metadata("index_codecs of shards have " + shown(name_of(codecs[1])) +
                    ", and Penstock reads bytes and crc32c");
}

Shape chunk_of(const Json& given) {
  if (!given.contains("chunk_shape"))
    refuse_metadata("codec 'sharding_indexed' has no chunk_shape");
  return shape_of(given["chunk_shape"], "chunk_shape");
}

/// "name" or "name:level"
CodecSettings parse_short(std::string_view text, int element_size) {
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  Json given = Json::object();
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    int level = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
    if (code != std::errc() || end != digits.data() + digits.size())
      throw Error(ErrorClass::argument, "compressors: level '" + std::string(digits) + "' in '" +
                                            std::string(text) + "' is not a whole number");
    given[name == "blosc" ? "clevel" : "level"] = level;
  }
  return settings_of(name, given, element_size);
}

}  // namespace

void refuse_metadata(const std::string& what) {
  throw Error(ErrorClass::format, what);
}

int number_or(const Json& object, const char* name, int otherwise) {
  const auto found = object.find(name);
  if (found == object.end()) return otherwise;
  const Shape number = shape_of(Json::array({*found}), name);
  if (!std::in_range<int>(number[0]))
    refuse_metadata(std::string(name) + " is " + shown(*found) + ", beyond what it can be");
  return static_cast<int>(number[0]);
}

bool flag_or(const Json& object, const char* name, bool otherwise) {
  const auto found = object.find(name);
  if (found == object.end()) return otherwise;
  if (!found->is_boolean())
    refuse_metadata(std::string(name) + " is " + shown(*found) + ", not true or false");
  return found->get<bool>();
}

std::string text_or(const Json& object, const char* name, const std::string& otherwise) {
  const auto found = object.find(name);
  if (found == object.end()) return otherwise;
  if (!found->is_string())
    refuse_metadata(std::string(name) + " is " + shown(*found) + ", no text");
  return found->get<std::string>();
}

Shape shape_of(const Json& value, const std::string& name) {
  Shape shape;
  if (!value.is_array()) refuse_metadata(name + " must be a list of numbers, not " + shown(value));
  for (const Json& extent : value) {
    if (!extent.is_number_integer() ||
        (extent.is_number_unsigned() && !std::in_range<std::int64_t>(extent.get<std::uint64_t>())))
      refuse_metadata(name + " must be a list of whole numbers of 64 bits, with none as " +
                      shown(extent));
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

Json configuration_of(const Json& extension) {
  if (!extension.is_object()) return Json::object();
  const auto found = extension.find("configuration");
  if (found == extension.end()) return Json::object();
  if (!found->is_object())
    refuse_metadata("configuration is " + shown(*found) + ", no JSON object");
  return *found;
}

bool parse_codecs(const Json& list, Array& array) {
  if (!list.is_array() || list.empty())
    refuse_metadata("codecs must be a list, of one codec at least");
  if (name_of(list[0]) != "sharding_indexed") return parse_chain(list, array);
  if (list.size() > 1)
    refuse_metadata("codec " + shown(name_of(list[1])) +
                    " follows sharding_indexed: whole shards would be coded "
                    "once more, which Penstock does not do");
  const Json given = configuration_of(list[0]);
  array.sharded = true;
  array.grid.chunk = chunk_of(given);
  parse_index(given, array);
  return parse_chain(given.value("codecs", Json::array()), array);
}

std::vector<CodecSettings> parse_compressors(const std::string& text, const Type& type) {
  std::vector<CodecSettings> codecs;
  if (text.empty()) return codecs;
  if (text[0] == '[' || text[0] == '{') {
    try {
      Json json = parse_json(text);
      if (json.is_object()) json = Json::array({json});
      for (const Json& codec : json)
        codecs.push_back(settings_of(name_of(codec), configuration_of(codec), type.size));
    } catch (const Json::exception& error) {
      throw Error(ErrorClass::argument, "compressors: " + words_of(error));
    } catch (const Error& error) {
      throw Error(ErrorClass::argument, "compressors: " + std::string(error.what()));
    }
    return codecs;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    codecs.push_back(parse_short(std::string_view(text).substr(begin, end - begin), type.size));
    begin = end + 1;
  }
  return codecs;
}

Json codecs_json(const Array& array) {
  const auto size = static_cast<int>(array.grid.element_size);
  Json chain = Json::array({bytes_json(size, array.dtype[0] != '>')});
  for (const CodecSettings& codec : array.codecs) chain.push_back(json_of(codec));
  if (!array.sharded) return chain;
  Json index = Json::array({bytes_json(8, array.index_little)});
  if (array.index_has_sum) index.push_back(Json{{"name", "crc32c"}});
  return Json::array({{{"name", "sharding_indexed"},
                       {"configuration",
                        {{"chunk_shape", array.grid.chunk},
                         {"codecs", chain},
                         {"index_codecs", index},
                         {"index_location", array.index_at_end ? "end" : "start"}}}}});
}

}  // namespace penstock::zarr
