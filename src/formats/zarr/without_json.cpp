// Replaces the code for zarr.json if nlohmann-json was not found at build time.
#include "formats/zarr/array.hpp"

namespace penstock::zarr {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorClass::argument,
              "Zarr arrays need nlohmann-json, which this Penstock was built without; install it "
              "(Debian: nlohmann-json3-dev) and build Penstock again");
}

}  // namespace

Array parse(std::string_view) {
  refuse();
}
Array make(const ArraySpec&) {
  refuse();
}
std::string document_of(const Array&) {
  refuse();
}
std::string group_text() {
  refuse();
}
std::string node_type_of(std::string_view) {
  refuse();
}
void check_attributes(const std::string&) {}

}  // namespace penstock::zarr
