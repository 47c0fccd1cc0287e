// _core._Race: methods of collective I/O in alternation, timed on every rank. The measuring part of
// `penstock bench steps` and `peers`; Python selects, checks and reports.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include "bench_clock.hpp"
#include "bench_methods.hpp"
#include "gil.hpp"
#include "module.hpp"

namespace penstock::python {
namespace {

using namespace nb::literals;
using Array = nb::ndarray<nb::numpy>;

template <class Handle>
Handle handle_at(std::uintptr_t address) {
  return *reinterpret_cast<Handle*>(address);
}

template <class View>
View view_of(const Array& array, std::int64_t element_size) {
  View view;
  view.data = static_cast<std::byte*>(array.data());
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    view.shape.push_back(static_cast<std::int64_t>(array.shape(d)));
    view.strides.push_back(array.stride(d) * element_size);
  }
  return view;
}

class Race {
 public:
  explicit Race(std::uintptr_t comm) : comm_(handle_at<MPI_Comm>(comm)), barrier_(comm_) {
    MPI_Comm_rank(comm_, &rank_);
  }

  void rod(Array memory, std::int64_t offset, bool direct) {
    methods_.push_back(std::make_unique<ContiguousBaseline>(static_cast<std::byte*>(memory.data()),
                                                            memory.nbytes(), offset, direct));
    pinned_.push_back(std::move(memory));
  }

  void engine(const std::vector<std::int64_t>& shape, std::int64_t element_size, const Hints& hints,
              std::optional<Section> section, std::optional<Array> source,
              std::optional<Array> target) {
    Engine::SectionAndMemory wanted{
        {shape, element_size, "", Order::c, 0, Container::raw}, hints, section, {}, {}};
    if (section) {
      wanted.source = view_of<WriteView>(*source, element_size);
      wanted.target = view_of<ReadView>(*target, element_size);
      pinned_.push_back(std::move(*source));
      pinned_.push_back(std::move(*target));
    }
    methods_.push_back(std::make_unique<Engine>(comm_, std::move(wanted)));
  }

  /// `interior`: where the section begins in memory of shape `outer`.
  void mpi_io(const std::vector<std::int64_t>& shape, std::int64_t element_size,
              const std::optional<Section>& section, const std::vector<std::int64_t>& outer,
              const std::vector<std::int64_t>& interior, Array source, Array target) {
    MpiIo::TypesAndMemory wanted{
        element_size == 4 ? MPI_INT : MPI_DOUBLE, {}, {}, source.data(), target.data()};
    if (section) {
      wanted.file = file_type_of(*section, shape, wanted.element);
      wanted.memory = memory_type_of(outer, section->shape(), interior, wanted.element);
    }
    methods_.push_back(std::make_unique<MpiIo>(comm_, std::move(wanted)));
    pinned_.push_back(std::move(source));
    pinned_.push_back(std::move(target));
  }

  void open(const std::vector<std::string>& paths) {
    for (std::size_t i = 0; i < methods_.size(); ++i) methods_[i]->open(paths[i], false);
  }

  /// Runs each method of `order`. Returns for each: begin and end of opening, of the write (read),
  /// of closing; and the times in Penstock's statistics of the call. `fresh`: each creates the file
  /// at `fresh`; otherwise all files are open, and stay open.
  std::vector<double> round(const std::vector<std::size_t>& order, bool writes,
                            const std::optional<std::string>& fresh) {
    std::vector<double> numbers;
    for (const std::size_t i : order) {
      BenchMethod& method = *methods_.at(i);
      TimeSpan opened, closed;
      if (fresh) {
        if (rank_ == 0) unlink(fresh->c_str());
        opened = span_of(barrier_, [&] { method.open(*fresh, true); });
      }
      const TimeSpan moved = span_of(barrier_, [&] { writes ? method.write() : method.read(); });
      if (fresh) closed = span_of(barrier_, [&] { method.close(); });
      else method.await_background();
      const Statistics call = method.last_call();
      numbers.insert(numbers.end(),
                     {opened.begin, opened.end, moved.begin, moved.end, closed.begin, closed.end});
      for (const StatisticsField& field : statistics_fields)
        if (const auto* const member = std::get_if<double Statistics::*>(&field.member))
          numbers.push_back(call.**member);
    }
    barrier_.wait();
    return numbers;
  }

  void close_files() {
    for (auto& method : methods_) method->close();
  }

  const BenchMethod& method(std::size_t i) const { return *methods_.at(i); }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  SleepingBarrier barrier_;
  std::vector<Array> pinned_;  // the memory of the methods
  std::vector<std::unique_ptr<BenchMethod>> methods_;
};

}  // namespace

void bind_bench(nb::module_& m) {
  using WithoutGil = nb::call_guard<python::WithoutGil>;
  nb::class_<Race>(m, "_Race")
      .def(nb::init<std::uintptr_t>(), "comm"_a)
      .def("rod", &Race::rod, "memory"_a, "offset"_a, "direct"_a)
      .def("engine", &Race::engine, "shape"_a, "element_size"_a, "hints"_a, "section"_a.none(),
           "source"_a.none(), "target"_a.none())
      .def("mpi_io", &Race::mpi_io, "shape"_a, "element_size"_a, "section"_a.none(), "outer"_a,
           "interior"_a, "source"_a, "target"_a)
      .def("open", &Race::open, "paths"_a, WithoutGil())
      .def("round", &Race::round, "order"_a, "writes"_a, "fresh"_a.none(), WithoutGil())
      .def("close_files", &Race::close_files, WithoutGil())
      .def("last_call", [](const Race& race, std::size_t i) { return race.method(i).last_call(); })
      .def("carried_out_by",
           [](const Race& race, std::size_t i) { return race.method(i).carried_out_by(); });
}

}  // namespace penstock::python
