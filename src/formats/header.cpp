#include "formats/header.hpp"

#include <algorithm>
#include <cstring>

#include "array/layout.hpp"
#include "base/checked.hpp"
#include "file/words.hpp"
#include "formats/npy/npy.hpp"

namespace penstock {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t d = 0; d < shape.size(); ++d)
    text += (d ? ", " : "") + (shape[d] == unlimited ? "unlimited" : std::to_string(shape[d]));
  return text + ")";
}

bool wants_growth(const ArraySpec& spec) {
  return std::find(spec.shape.begin(), spec.shape.end(), unlimited) != spec.shape.end();
}

ArraySpec with_extent(ArraySpec spec, Order order, std::int64_t extent) {
  const std::size_t slowest = order == Order::c ? 0 : spec.shape.size() - 1;
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    if (spec.shape[d] != unlimited) continue;
    if (d != slowest)
      throw Error(ErrorClass::argument, "shape: dimension " + std::to_string(d) +
                                            " cannot grow; of an array in order " +
                                            std::string(to_string(order)) + " dimension " +
                                            std::to_string(slowest) + " can, which is the slowest");
    spec.shape[d] = extent;
  }
  return spec;
}

namespace {

bool named_npy(const std::string& path) {
  return path.ends_with(".npy");
}

Described described_raw(const ArraySpec& spec) {
  Described described{spec, spec.offset, {}, false};
  described.spec.container = Container::raw;
  described.spec.order = spec.order.value_or(Order::c);
  return described;
}

/// The shape in a file that describes itself.
std::vector<std::int64_t> told_shape(const ArraySpec& spec) {
  return spec.is_scalar ? std::vector<std::int64_t>() : spec.shape;
}

npy::Header npy_header(const ArraySpec& spec, Order order) {
  return {spec.dtype, spec.element_size, order, told_shape(spec), 0};
}

void check_given(const ArraySpec& spec, const std::string& path) {
  if (spec.shape.empty())
    throw Error(ErrorClass::argument,
                "'" + path + "': shape is needed, since the file does not contain it");
  if (spec.is_scalar && spec.shape != std::vector<std::int64_t>{1})
    throw Error(ErrorClass::argument, "'" + path + "': the shape of a single element is {1}, not " +
                                          shape_text(spec.shape));
  if (spec.element_size == 0)
    throw Error(ErrorClass::argument,
                "'" + path + "': dtype is needed, since the file does not contain it");
}

/// The number of complete steps in the file.
std::int64_t steps_in(std::int64_t size, const ArraySpec& spec) {
  if (spec.records.step != 0) return spec.records.count;
  const ArraySpec one = with_extent(spec, spec.order.value_or(Order::c), 1);
  const ArrayLayout layout{one.shape, one.element_size, Order::c, spec.offset};
  layout.check();
  const std::int64_t bytes = layout.byte_count();
  return bytes > 0 ? std::max<std::int64_t>(size - spec.offset, 0) / bytes : 0;
}

void check_layout(const Described& d) {
  const ArraySpec& spec = d.spec;
  ArrayLayout{spec.shape, spec.element_size, *spec.order, d.data_offset, spec.records.step}.check();
}

std::vector<std::byte> read_bytes(Storage& storage, std::int64_t offset, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  const Transfer got = read_fully(storage, bytes, offset);
  if (got.error != 0)
    throw Error("reading the header of '" + storage.path() + "': " + std::strerror(got.error),
                storage.path(), offset, got.error);
  bytes.resize(static_cast<std::size_t>(got.bytes));
  return bytes;
}

/// What the user passed must match the file.
void check_against(const npy::Header& header, const ArraySpec& given, const std::string& path) {
  const auto differ = [&](const std::string& what, const std::string& file,
                          const std::string& user) {
    throw Error(ErrorClass::format, "'" + path + "' has " + what + " " + file + ", not " + user);
  };
  const auto agrees = [](std::int64_t wanted, std::int64_t there) {
    return wanted == there || wanted == unlimited;
  };
  const std::vector<std::int64_t> wanted = told_shape(given);
  if (!given.shape.empty() && !std::ranges::equal(wanted, header.shape, agrees))
    differ("shape", text_of(header.shape), shape_text(wanted));
  if (!given.dtype.empty() && npy::canonical(given.dtype) != npy::canonical(header.descr))
    differ("dtype", header.descr, given.dtype);
  if (given.element_size != 0 && given.element_size != header.element_size)
    differ("element size", std::to_string(header.element_size), std::to_string(given.element_size));
  // Arrays of one dimension have both orders.
  if (given.order && *given.order != header.order && header.shape.size() > 1)
    differ("order", std::string(to_string(header.order)), std::string(to_string(*given.order)));
}

Described existing_npy(Storage& storage, const std::string& path, const ArraySpec& given) {
  npy::Header header;
  try {
    const auto preamble = read_bytes(storage, given.offset, npy::preamble_size);
    header = npy::parse(read_bytes(storage, given.offset, npy::header_size(preamble)));
    if (!header.shape.empty())
      ArrayLayout{header.shape, header.element_size, header.order, 0}.check();
  } catch (const Error& error) {
    if (error.error_class() == ErrorClass::storage) throw;
    throw Error(ErrorClass::format, "'" + path + "': " + error.what());
  }
  check_against(header, given, path);
  with_extent(given, header.order, 0);
  Described described{given, given.offset + header.header_size, {}, false, wants_growth(given)};
  described.spec.is_scalar = header.shape.empty();
  described.spec.shape = described.spec.is_scalar ? std::vector<std::int64_t>{1} : header.shape;
  described.spec.element_size = header.element_size;
  described.spec.dtype = header.descr;
  described.spec.order = header.order;
  described.spec.container = Container::npy;
  return described;
}

}  // namespace

Described describe_new(const std::string& path, const ArraySpec& given) {
  check_given(given, path);
  const ArraySpec spec = with_extent(given, given.order.value_or(Order::c), 0);
  const bool npy = spec.container == Container::npy ||
                   (spec.container == Container::automatic && named_npy(path));
  Described described = described_raw(spec);
  if (npy) {
    if (spec.dtype.empty())
      throw Error(ErrorClass::argument, "'" + path + "': dtype is needed to create an .npy file");
    if (npy::element_size_of(spec.dtype) != spec.element_size)
      throw Error(ErrorClass::argument, "dtype " + spec.dtype + " has elements of " +
                                            std::to_string(npy::element_size_of(spec.dtype)) +
                                            " bytes, not " + std::to_string(spec.element_size));
    described.spec.container = Container::npy;
    described.new_header = npy::format(npy_header(spec, *described.spec.order));
    described.data_offset =
        checked_add(spec.offset, static_cast<std::int64_t>(described.new_header.size()), "offset");
  }
  check_layout(described);
  described.changes = true;
  described.growing = wants_growth(given);
  return described;
}

std::vector<std::byte> header_of(const Described& described, const std::string& path) {
  const ArraySpec& spec = described.spec;
  try {
    return npy::format(npy_header(spec, *spec.order), described.data_offset - spec.offset);
  } catch (const Error&) {
    throw Error(ErrorClass::state,
                "'" + path + "': the .npy header has no room for the longer shape " +
                    text_of(spec.shape) + "; copy the array to a file made with Penstock");
  }
}

std::int64_t element_size_of(const std::string& dtype) {
  try {
    return npy::element_size_of(dtype);
  } catch (const Error&) {
    throw Error(ErrorClass::argument,
                "dtype '" + dtype + "' is none of a fixed size as NumPy writes it (\"<f8\")");
  }
}

Described describe_existing(Storage& storage, const std::string& path, const ArraySpec& given,
                            bool may_extend) {
  ArraySpec spec = given;
  const std::int64_t size = checked_size(storage);
  const bool may_be_npy = spec.container != Container::raw;
  if (may_be_npy && npy::has_magic(read_bytes(storage, spec.offset, npy::preamble_size))) {
    Described described = existing_npy(storage, path, spec);
    check_layout(described);
    const std::int64_t end =
        described.data_offset +
        ArrayLayout{described.spec.shape, described.spec.element_size, *described.spec.order, 0}
            .byte_count();
    if (size < end)
      throw Error(ErrorClass::format, "'" + path + "' is truncated: its header promises " +
                                          std::to_string(end) + " bytes, it has " +
                                          std::to_string(size));
    return described;
  }
  const bool wants_npy = spec.container == Container::npy ||
                         (spec.container == Container::automatic && named_npy(path));
  if (wants_npy && spec.offset >= size && may_extend && size > 0) return describe_new(path, spec);
  if (wants_npy)
    throw Error(ErrorClass::format,
                "'" + path + "' has no .npy header at byte " + std::to_string(spec.offset) +
                    "; it is foreign or damaged (for bare bytes say container raw)");
  check_given(spec, path);
  if (wants_growth(spec))
    spec = with_extent(spec, spec.order.value_or(Order::c), steps_in(size, spec));
  Described described = described_raw(spec);
  check_layout(described);
  described.growing = wants_growth(given);
  const std::int64_t end =
      ArrayLayout{spec.shape, spec.element_size, Order::c, spec.offset, spec.records.step}
          .extent()
          .end;
  if (size < end && !may_extend)
    throw Error(ErrorClass::format,
                "'" + path + "' is too short: an array of shape " + text_of(spec.shape) +
                    " with elements of " + std::to_string(spec.element_size) + " bytes at offset " +
                    std::to_string(spec.offset) + " ends at byte " + std::to_string(end) +
                    ", the file at " + std::to_string(size));
  described.changes = size < end;
  return described;
}

std::string Described::packed() const {
  std::vector<std::int64_t> numbers{data_offset,
                                    changes,
                                    growing,
                                    spec.is_scalar,
                                    spec.offset,
                                    spec.records.step,
                                    spec.element_size,
                                    spec.order == Order::fortran,
                                    static_cast<std::int64_t>(spec.container),
                                    static_cast<std::int64_t>(spec.shape.size())};
  numbers.insert(numbers.end(), spec.shape.begin(), spec.shape.end());
  std::string text(numbers.size() * sizeof numbers.front(), '\0');
  std::memcpy(text.data(), numbers.data(), text.size());
  return text + spec.dtype;
}

Described Described::unpacked(std::string_view text) {
  std::size_t at = 0;
  const auto next = [&] {
    std::int64_t number = 0;
    std::memcpy(&number, text.data() + at, sizeof number);
    at += sizeof number;
    return number;
  };
  Described d;
  d.data_offset = next();
  d.changes = next() != 0;
  d.growing = next() != 0;
  d.spec.is_scalar = next() != 0;
  d.spec.offset = next();
  d.spec.records.step = next();
  d.spec.element_size = next();
  d.spec.order = next() != 0 ? Order::fortran : Order::c;
  d.spec.container = static_cast<Container>(next());
  d.spec.shape.resize(static_cast<std::size_t>(next()));
  for (std::int64_t& extent : d.spec.shape) extent = next();
  d.spec.dtype = text.substr(at);
  return d;
}

}  // namespace penstock
