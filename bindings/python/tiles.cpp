// Tiles of out-of-core arrays: tilings and memory budgets.
#include "module.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace nb::literals;

namespace penstock::python {
namespace {

constexpr std::pair<const char*, TileUse> uses[] = {
    {"r", TileUse::read}, {"r+", TileUse::update}, {"w", TileUse::write}};

TileUse use_of(const std::string& text) {
  for (const auto& [name, use] : uses)
    if (text == name) return use;
  throw Error(ErrorClass::argument,
              "tiles: mode '" + text +
                  "' is none of 'r' (they are read), 'r+' (read and written), "
                  "'w' (written)");
}

}  // namespace

void bind_tiles(nb::module_& m) {
  nb::class_<Tiling>(m, "_Tiling")
      .def_prop_ro("count", &Tiling::count)
      .def_prop_ro("bytes", &Tiling::bytes)
      .def_prop_ro("axis", &Tiling::axis)
      .def_prop_ro("tile_shape", &Tiling::tile_shape)
      .def(
          "tile",
          [](const Tiling& tiling, std::int64_t index) {
            const TileSections tile = tiling.tile(index);
            return nb::make_tuple(tile.section, tile.with_halo, tile.halo_before);
          },
          "index"_a);
  m.def(
      "_tiling",
      [](const Section& section, const std::vector<std::int64_t>& shape, const std::string& order,
         const std::pair<std::int64_t, std::int64_t>& element_size_and_bytes,
         const nb::tuple& how) {
        return Tiling({shape, element_size_and_bytes.first, parse_order(order), section,
                       nb::cast<int>(how[0]), nb::cast<std::vector<std::int64_t>>(how[1]),
                       nb::cast<std::vector<std::int64_t>>(how[2]), element_size_and_bytes.second,
                       nb::cast<std::int64_t>(how[3])});
      },
      "section"_a, "shape"_a, "order"_a, "element_size_and_bytes"_a, "how"_a);
  nb::class_<TileBudget>(m, "_TileBudget")
      .def(nb::new_(&TileBudget::of), "memory"_a, "buffer_size"_a)
      .def_ro("memory", &TileBudget::memory)
      .def_ro("buffer_size", &TileBudget::buffer_size)
      .def_prop_ro("active_buffer", &TileBudget::active_buffer)
      .def(
          "tile_bytes",
          [](const TileBudget& b, const std::string& use) { return b.tile_bytes(use_of(use)); },
          "use"_a)
      .def("keeps", &TileBudget::keeps, "tiles"_a, "bytes"_a)
      .def_static(
          "buffers", [](const std::string& use) { return TileBudget::buffers(use_of(use)); },
          "use"_a)
      .def_static(
          "needed",
          [](const std::string& use, std::int64_t bytes, std::int64_t buffer_size) {
            return TileBudget::needed(use_of(use), bytes, buffer_size);
          },
          "use"_a, "bytes"_a, "buffer_size"_a);
  m.def(
      "_free_room",
      [](const nb::bytes& path) {
        const Room room = free_room(std::string(path.c_str(), path.size()));
        return std::pair(room.disk, room.memory);
      },
      "path"_a);
}

}  // namespace penstock::python
