// One random datatype compared with MPI: the bytes moved by MPI_Pack and MPI_Unpack, extents and
// sizes, counts of elements; and external32 in both directions.
#pragma once

#include <set>

#include "mpi_defects.hpp"
#include "mpi_io/datatype.hpp"
#include "mpi_io/external32.hpp"
#include "random_types.hpp"
#include "support/random_patterns.hpp"

namespace type_test {

using Family = ps::BasicType::Family;

inline void require(bool holds, const std::string& what) {
  if (!holds) throw Failure{what};
}

inline std::string numbers(std::int64_t a, std::int64_t b) {
  return " (" + std::to_string(a) + ", expected " + std::to_string(b) + ")";
}

inline void require_equal(std::int64_t value, std::int64_t expected, const std::string& what) {
  require(value == expected, what + numbers(value, expected));
}

class TypeCase {
 public:
  TypeCase(Random& random, const Type& type, bool only_bytes, Drawn drawn)
      : r_(random),
        type_(type.get()),
        layout_(ps::layout_of(type_)),
        drawn_(drawn),
        only_bytes_(only_bytes) {
    count_ = static_cast<int>(r_.in(0, 3));
  }

  void run() {
    check_bounds();
    check_elements();
    make_buffer();
    bool moved = true;
    layout_->elements.for_each(
        0, layout_->elements.totals().count,
        [&](const ps::BasicType& type, std::int64_t) { moved = moved && moves_every_byte(type); });
    if (moved) check_pack();
    if (overlaps_) return;
    if (moved) check_unpack();
    check_external();
  }

 private:
  void check_bounds() {
    MPI_Count size = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    MPI_Type_size_x(type_, &size);
    MPI_Type_get_extent_x(type_, &lower, &extent);
    MPI_Type_get_true_extent_x(type_, &true_lower, &true_extent);
    require_equal(layout_->size(), size, "size");
    require_equal(layout_->lower_bound(), lower, "lower bound");
    require_equal(layout_->extent(), extent, "extent");
    require_equal(layout_->elements.totals().native, size, "bytes of the elements");
    if (size > 0) {
      // MPICH also counts empty parts of the type map.
      const ps::Extent hull = layout_->nest.hull();
      require(hull.begin >= true_lower && hull.end <= true_lower + true_extent,
              "bytes are outside of the true extent");
    }
    if (!only_bytes_ || size == 0 || !joins_bounds(drawn_)) return;
    // Bytes are the same in external32 as in memory, and unaligned: this checks our own rules of
    // bounds.
    const ps::TypeLayout external = ps::decode(type_, ps::Representation::external32);
    require_equal(external.size(), size, "size in external32");
    require_equal(external.lower_bound(), lower, "lower bound in external32");
    require_equal(external.extent(), extent, "extent in external32");
  }

  /// The status for this many bytes.
  void check_elements() {
    const ps::Elements stream = ps::Elements::repeat(layout_->elements, count_);
    const auto bytes = r_.in(0, stream.totals().native);
    const auto whole = stream.within(bytes, ps::Elements::Unit::native);
    require(whole.native <= bytes, "more than there is");
    require(stream.within(whole.external, ps::Elements::Unit::external) == whole,
            "elements within bytes of external32");
    if (layout_->size() == 0) return;
    MPI_Status status;
    MPI_Status_set_elements_x(&status, MPI_BYTE, whole.native);
    int types = 0;
    MPI_Get_count(&status, type_, &types);
    const bool fits = whole.native % layout_->size() == 0;
    require_equal(types, fits ? whole.native / layout_->size() : MPI_UNDEFINED, "count");
    if (!counts_elements(drawn_)) return;
    MPI_Count elements = 0;
    MPI_Get_elements_x(&status, type_, &elements);
    require_equal(elements, whole.count, "elements in " + std::to_string(whole.native) + " bytes");
  }

  /// Room for what the type touches according to MPI and the layout.
  void make_buffer() {
    MPI_Count lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    MPI_Type_get_extent_x(type_, &lower, &extent);
    MPI_Type_get_true_extent_x(type_, &true_lower, &true_extent);
    const std::int64_t reach = std::int64_t{extent} * std::max(0, count_ - 1);
    const ps::Extent hull = layout_->nest.hull();
    const std::int64_t begin =
        std::min<std::int64_t>(true_lower, hull.begin) + std::min<std::int64_t>(0, reach);
    const std::int64_t end = std::max<std::int64_t>(true_lower + true_extent, hull.end) +
                             std::max<std::int64_t>(0, reach);
    origin_ = 64 - begin;
    buffer_.resize(static_cast<std::size_t>(end - begin + 128));
    for (auto& byte : buffer_) byte = static_cast<unsigned char>(r_.in(0, 255));
    map_ = ps::memory_map(buffer_.data() + origin_, count_, *layout_);
    places_ = ps::test::places_of(map_.nest(), 0, map_.size());
    std::set<std::int64_t> seen;
    for (const std::int64_t place : places_) overlaps_ = !seen.insert(place).second || overlaps_;
  }

  unsigned char& at(std::int64_t place) {
    return buffer_.at(static_cast<std::size_t>(origin_ + place));
  }

  Bytes by_nest() {
    Bytes bytes;
    for (const std::int64_t place : places_) bytes.push_back(at(place));
    return bytes;
  }

  void check_pack() {
    int bytes = 0, position = 0;
    MPI_Pack_size(count_, type_, MPI_COMM_SELF, &bytes);
    Bytes packed(static_cast<std::size_t>(bytes) + 1);
    MPI_Pack(buffer_.data() + origin_, count_, type_, packed.data(), bytes, &position,
             MPI_COMM_SELF);
    const Bytes expected = by_nest();
    require_equal(position, std::ssize(expected), "bytes packed");
    packed.resize(expected.size());
    const auto differ = std::ranges::mismatch(packed, expected);
    require(differ.in1 == packed.end(),
            "byte " + std::to_string(differ.in1 - packed.begin()) + " of what MPI packs differs");
  }

  void check_unpack() {
    Bytes packed(places_.size() + 1);
    for (auto& byte : packed) byte = static_cast<unsigned char>(r_.in(0, 255));
    Bytes expected = buffer_;
    for (std::size_t i = 0; i < places_.size(); ++i)
      expected.at(static_cast<std::size_t>(origin_ + places_[i])) = packed[i];
    int position = 0;
    MPI_Unpack(packed.data(), static_cast<int>(places_.size()), &position, buffer_.data() + origin_,
               count_, type_, MPI_COMM_SELF);
    require(buffer_ == expected, "what MPI unpacks differs");
  }

  /// A value that both representations hold, so that it comes back bit by bit.
  void make_number(const ps::BasicType& type, std::byte* number) {
    std::memset(number, 0, type.native);
    if (type.family == Family::extended) {
      const auto value = static_cast<long double>(r_.in(-1000000, 1000000)) / 7;
      std::memcpy(number, &value, 10);
    } else if (type.family == Family::logical) {
      number[0] = static_cast<std::byte>(r_.in(0, 1));
    } else {
      // For integers with fewer bytes there, positive numbers of one byte less.
      const int bytes = type.native > type.external ? type.external - 1 : type.native;
      for (int i = 0; i < bytes; ++i) number[i] = static_cast<std::byte>(r_.in(0, 255));
    }
  }

  void check_external() {
    const ps::Elements stream = ps::Elements::repeat(layout_->elements, count_);
    std::vector<std::byte> native(static_cast<std::size_t>(stream.totals().native));
    std::byte* number = native.data();
    bool known = true, by_mpi = packs_external(drawn_);
    stream.for_each(0, stream.totals().count, [&](const ps::BasicType& type, std::int64_t count) {
      known = known && type.family != Family::unknown;
      by_mpi = by_mpi && packs_external(type);
      for (std::int64_t i = 0; i < count * type.parts; ++i, number += type.native)
        make_number(type, number);
    });
    if (!known) return;
    for (std::size_t i = 0; i < places_.size(); ++i)
      at(places_[i]) = std::to_integer<unsigned char>(native[i]);
    std::vector<std::byte> packed(static_cast<std::size_t>(stream.totals().external));
    ps::pack_external32(map_, stream, packed.data());
    if (by_mpi && (packs_external_nothing || !packed.empty())) check_external_by_mpi(packed);
    check_external_back(stream, packed);
  }

  void check_external_by_mpi(const std::vector<std::byte>& packed) {
    std::vector<std::byte> expected(packed.size() + 1);
    MPI_Aint position = 0;
    MPI_Pack_external("external32", buffer_.data() + origin_, count_, type_, expected.data(),
                      std::ssize(packed), &position);
    expected.resize(packed.size());
    require_equal(position, std::ssize(packed), "bytes that MPI packs in external32");
    require(packed == expected, "external32 differs from MPI's");
  }

  /// Also for a part of it: incomplete elements are not changed.
  void check_external_back(const ps::Elements& stream, const std::vector<std::byte>& packed) {
    const Bytes before = buffer_;
    for (const std::int64_t place : places_) at(place) = 0xEE;
    const auto there =
        static_cast<std::size_t>(r_.chance(50) ? std::ssize(packed) : r_.in(0, std::ssize(packed)));
    const auto done = ps::unpack_external32(std::span(packed).first(there), map_, stream);
    Bytes expected = before;
    for (std::size_t i = static_cast<std::size_t>(done.native); i < places_.size(); ++i)
      expected.at(static_cast<std::size_t>(origin_ + places_[i])) = 0xEE;
    require(buffer_ == expected, "external32 does not come back");
    require(there < packed.size() || done == stream.totals(), "external32 is not whole");
  }

  Random& r_;
  MPI_Datatype type_;
  std::shared_ptr<const ps::TypeLayout> layout_;
  Drawn drawn_;
  bool only_bytes_, overlaps_ = false;
  int count_ = 0;
  std::int64_t origin_ = 0;
  Bytes buffer_;
  ps::MemoryMap map_;
  ps::test::Places places_;
};

/// Throws Failure, or Penstock's exceptions. `text`: how the type was made.
inline void run_case(Random& random, std::string& text) {
  Limits limits;
  limits.only_bytes = random.chance(30);
  TypeGenerator generator(random, limits);
  Type type = generator.draw(static_cast<int>(random.in(0, 4)));
  text = type.text();
  if (random.chance(50)) ps::layout_of(type.get());  // of a type that is not committed
  type.commit();
  TypeCase(random, type, limits.only_bytes, generator.drawn()).run();
}

}  // namespace type_test
