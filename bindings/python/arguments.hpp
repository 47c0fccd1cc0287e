// Arguments of calls: converts the package's arrays and sections to library types.
#pragma once

#include <nanobind/nanobind.h>

#include <cerrno>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <penstock/penstock.hpp>

#include "pinned.hpp"

namespace penstock::python {

template <class View>
Part<View> part_of(const Section& section, const Py_buffer& buffer) {
  Part<View> part{section, {}};
  part.memory.data = static_cast<decltype(part.memory.data)>(buffer.buf);
  part.memory.shape.assign(buffer.shape, buffer.shape + buffer.ndim);
  part.memory.strides.assign(buffer.strides, buffer.strides + buffer.ndim);
  return part;
}

/// A section, or the lower bounds of a block with the shape of the memory.
inline Section section_of(nb::handle given, const Py_buffer& memory) {
  if (!nb::isinstance<nb::tuple>(given)) return nb::cast<const Section&>(given);
  const auto lower = nb::cast<nb::tuple>(given);
  if (lower.size() != static_cast<std::size_t>(memory.ndim))
    throw Error(ErrorClass::argument, "a block of " + std::to_string(lower.size()) +
                                          " dimensions for an array of " +
                                          std::to_string(memory.ndim));
  std::vector<Indices> dimensions;
  for (std::size_t d = 0; d < lower.size(); ++d) {
    const auto begin = nb::cast<std::int64_t>(lower[d]);
    dimensions.emplace_back(Range{begin, begin + memory.shape[d]});
  }
  return Section(std::move(dimensions));
}

/// `error`: found by the package on this rank; the call is made with it, so that the other ranks
/// get it.
template <class View>
std::vector<Part<View>> pin(nb::list arrays, nb::list sections, bool writable, Pins& pinned) {
  std::vector<Part<View>> parts;
  for (std::size_t i = 0; i < nb::len(sections); ++i) {
    const Py_buffer& memory = pinned.add(arrays[i], writable);
    parts.push_back(part_of<View>(section_of(sections[i], memory), memory));
  }
  return parts;
}

using Problem = std::optional<std::pair<std::string, std::string>>;

inline Error error_of_problem(const std::pair<std::string, std::string>& problem) {
  const auto& [kind, text] = problem;
  if (kind == "memory") return Error(text, {}, -1, ENOMEM);
  return Error(kind == "section" ? ErrorClass::section : ErrorClass::argument, text);
}

/// The arguments as library types, with their memory pinned; or their error.
template <class View>
struct PinnedArguments {
  std::shared_ptr<Pins> pinned = Pins::make();
  std::vector<Part<View>> parts;
  std::optional<Error> fault;

  PinnedArguments(nb::list arrays, nb::list sections, const Problem& problem) {
    try {
      if (problem) throw error_of_problem(*problem);
      parts = pin<View>(arrays, sections, std::is_same_v<View, ReadView>, *pinned);
    } catch (const Error& found) {
      fault = found;
    } catch (const std::bad_alloc&) {
      fault = Error("out of memory", {}, -1, ENOMEM);
    }
  }
  const Error* found() const { return fault ? &*fault : nullptr; }
};

}  // namespace penstock::python
