// One rank's request in a call of a model, its places in the file, and its memory.
#pragma once

#include "formats/array_impl.hpp"
#include "model_support.hpp"
#include "support/random_patterns.hpp"

/// The array in the file.
struct ModelArray {
  std::vector<std::int64_t> shape;
  std::int64_t element_size = 1;
  ps::Order order = ps::Order::c;

  std::int64_t bytes() const {
    std::int64_t product = element_size;
    for (const auto n : shape) product *= n;
    return product;
  }
};

/// Parts: sections of the array; or nested patterns of its bytes, of an array of single bytes.
struct ModelRequest {
  std::vector<ps::Section> sections;
  std::vector<ps::test::Drawn> patterns;

  std::size_t parts() const { return sections.size() + patterns.size(); }
  /// Places in the array of a part's elements, in the order of the request.
  std::vector<std::int64_t> places(const ModelArray& array, std::size_t part) const;
  /// A part, for messages.
  std::string text(std::size_t part) const;
};
using Requests = std::vector<ModelRequest>;  // of all ranks

/// One request for each rank.
Requests requests_of(const ps::test::RankPatterns& patterns);

/// Memory of one part: of a section any order of dimensions, any padding, any sign of stride; of a
/// pattern any nest.
struct Memory {
  static constexpr unsigned char untouched = 0xEE;

  Bytes bytes;
  std::int64_t first = 16;  // of the section's first element
  std::vector<std::int64_t> shape, strides;
  ps::Nest nest;
  std::vector<std::int64_t> places;  // of each element, in the order of the request

  /// Dense, in C order.
  Memory(const ps::Section& section, std::int64_t element_size);
  Memory(Random& r, const ps::Section& section, std::int64_t element_size);
  Memory(Random& r, const ps::test::Drawn& pattern);
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(bytes.data()) + first; }

 private:
  void find_places();
};
using Memories = std::vector<Memory>;

Memories draw_memories(Random& r, const ModelRequest& request, std::int64_t element_size);
/// Of sections.
Memories dense_memories(const ModelRequest& request, std::int64_t element_size);

/// Carries out a request. With a background it is begun and returned; otherwise the call is
/// blocking.
std::shared_ptr<ps::InFlight::Begun> carry_out(ps::ArrayFile::Impl& file, ps::Direction direction,
                                               const ModelRequest& request, Memories& memories,
                                               const ps::Hints& hints,
                                               std::optional<ps::Background> background);
