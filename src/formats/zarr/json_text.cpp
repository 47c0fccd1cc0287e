#include "formats/zarr/json_text.hpp"

#include <algorithm>

#include <penstock/error.hpp>

#include "formats/npy/literal.hpp"

namespace penstock::zarr {
namespace {

constexpr std::size_t longest_shown = 100;

/// `at`: offset within the text.
[[noreturn]] void refuse(std::string_view text, std::size_t at, const std::string& what) {
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // 0 if there is none
  throw Error(ErrorClass::format, "line " + std::to_string(line) + ", column " +
                                      std::to_string(at - begin + 1) + ": " + what);
}

/// Also works for malformed text.
void check_depth(std::string_view text, int levels) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') in_string = !in_string;
    else if (in_string && c == '\\') ++at;
    else if (in_string) continue;
    else if (c == '[' || c == '{') ++depth;
    else if (c == ']' || c == '}') --depth;
    if (depth > levels)
      refuse(text, at, "values are nested deeper than " + std::to_string(levels) + " levels");
  }
}

std::string cut(std::string text) {
  if (text.size() > longest_shown) text = text.substr(0, longest_shown) + "...";
  return text;
}

}  // namespace

Json parse_json(std::string_view text, int levels) {
  check_depth(text, levels);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    refuse(text, std::clamp<std::size_t>(error.byte, 1, text.size() + 1) - 1,
           "it is no JSON: " + words_of(error));
  } catch (const Json::exception& error) {
    throw Error(ErrorClass::format, words_of(error));
  }
}

std::string shown(const Json& value) {
  return cut(value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace));
}

/// Such as "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while
/// parsing value - unexpected end of input; expected '}'".
std::string words_of(const Json::exception& error) {
  std::string words = error.what();
  for (const std::string_view mark : {"] ", " - "})
    if (const std::size_t end = words.find(mark); end != std::string::npos)
      words.erase(0, end + mark.size());
  return cut(literal::printable(words));
}

}  // namespace penstock::zarr
