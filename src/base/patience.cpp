#include "base/patience.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace penstock {
namespace {

Patience read_patience() {
  Patience patience;
  const char* const text = std::getenv("PENSTOCK_PATIENCE");
  if (text == nullptr || *text == '\0') return patience;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  const std::string rest = end;
  if (end == text || !(seconds >= 0 && seconds < 1e9) || (!rest.empty() && rest != ",error")) {
    std::fprintf(stderr,
                 "penstock: PENSTOCK_PATIENCE='%s' is not understood: it is SECONDS or "
                 "SECONDS,error; going on with 10\n",
                 text);
    return patience;
  }
  patience.limit = std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
  patience.raises = !rest.empty();
  return patience;
}

}  // namespace

const Patience& Patience::get() {
  static const Patience patience = read_patience();
  return patience;
}

}  // namespace penstock
