// Names of modes, containers and background options.
#include "base/names.hpp"

#include <penstock/array_file.hpp>

namespace penstock {
namespace {

constexpr Name<Mode> mode_names[] = {{"r", Mode::read},           {"r+", Mode::read_write},
                                     {"w", Mode::create},         {"x", Mode::create_new},
                                     {"a", Mode::open_or_create}, {"replace", Mode::replace}};
constexpr Name<Container> container_names[] = {{"auto", Container::automatic},
                                               {"raw", Container::raw},
                                               {"npy", Container::npy},
                                               {"zarr", Container::zarr}};
constexpr Name<Background> background_names[] = {
    {"none", Background::none}, {"storage", Background::storage}, {"all", Background::all}};

}  // namespace

std::string_view to_string(Mode mode) noexcept {
  return name_of(mode, mode_names);
}
std::string_view to_string(Container container) noexcept {
  return name_of(container, container_names);
}
std::string_view to_string(Background background) noexcept {
  return name_of(background, background_names);
}
Mode parse_mode(std::string_view text) {
  return parse_name<Mode>("mode", text, mode_names);
}
Container parse_container(std::string_view text) {
  return parse_name<Container>("container", text, container_names);
}
Background parse_background(std::string_view text) {
  return parse_name<Background>("background", text, background_names);
}

}  // namespace penstock
