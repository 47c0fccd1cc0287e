#include "bench_types.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <variant>

namespace penstock::python {
namespace {

int count_of(std::int64_t number) {
  if (number > std::numeric_limits<int>::max())
    throw std::invalid_argument("MPI-IO is measured with counts of up to 2^31 - 1 elements");
  return static_cast<int>(number);
}

std::vector<int> counts_of(const std::vector<std::int64_t>& numbers) {
  std::vector<int> counts;
  for (const std::int64_t number : numbers) counts.push_back(count_of(number));
  return counts;
}

Datatype subarray_of(const std::vector<std::int64_t>& outer, const std::vector<std::int64_t>& shape,
                     const std::vector<std::int64_t>& starts, MPI_Datatype element) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(count_of(static_cast<std::int64_t>(outer.size())),
                           counts_of(outer).data(), counts_of(shape).data(),
                           counts_of(starts).data(), MPI_ORDER_C, element, &made);
  return Datatype(made);
}

}  // namespace

Datatype::Datatype(MPI_Datatype made) : type_(made) {
  MPI_Type_commit(&type_);
}

Datatype::~Datatype() {
  int finalized = 1;
  MPI_Finalized(&finalized);
  if (type_ != MPI_DATATYPE_NULL && finalized == 0) MPI_Type_free(&type_);
}

Datatype memory_type_of(const std::vector<std::int64_t>& outer,
                        const std::vector<std::int64_t>& shape,
                        const std::vector<std::int64_t>& starts, MPI_Datatype element) {
  if (outer != shape) return subarray_of(outer, shape, starts, element);
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(count_of(elements), element, &made);
  return Datatype(made);
}

FileType file_type_of(const Section& section, const std::vector<std::int64_t>& shape,
                      MPI_Datatype element) {
  std::vector<Range> ranges;
  for (const Indices& indices : section.dimensions()) ranges.push_back(std::get<Range>(indices));
  if (std::all_of(ranges.begin(), ranges.end(), [](const Range& r) { return r.stride == 1; })) {
    std::vector<std::int64_t> starts;
    for (const Range& range : ranges) starts.push_back(range.lower);
    return {subarray_of(shape, section.shape(), starts, element), 0};
  }
  int bytes = 0;
  MPI_Type_size(element, &bytes);
  MPI_Aint step = bytes;
  FileType file{Datatype(), 0};
  for (std::size_t d = ranges.size(); d-- > 0;) {
    const Range& range = ranges[d];
    const std::int64_t count = (range.upper - range.lower + range.stride - 1) / range.stride;
    const MPI_Datatype inner = d + 1 == ranges.size() ? element : file.type.get();
    // The inner type has the extent of one step of this dimension, so that consecutive elements are
    // blocks.
    MPI_Datatype vector = MPI_DATATYPE_NULL, resized = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(count_of(count), count_of(range.block), range.stride * step, inner,
                            &vector);
    file.displacement += range.lower * step;
    step *= shape[d];
    MPI_Type_create_resized(vector, 0, step, &resized);
    MPI_Type_free(&vector);
    file.type = Datatype(resized);
  }
  return file;
}

}  // namespace penstock::python
