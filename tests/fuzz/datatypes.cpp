// MPI datatypes: the input selects a random tree of constructors, which is compared with MPI's own
// results as in tests/mpi_io/type_model.
#include "fuzz.hpp"
#include "mpi_io/type_case.hpp"

namespace {

constexpr std::string_view words[] = {"0", "1"};

void begin_mpi() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  std::atexit([] { MPI_Finalize(); });
}

}  // namespace

std::span<const std::string_view> fuzz_words() {
  return words;
}

void fuzz_one(const std::uint8_t* data, std::size_t size) {
  static const bool begun = (begin_mpi(), true);
  static_cast<void>(begun);
  std::uint64_t seed = 14695981039346656037U;  // FNV-1a
  for (const std::uint8_t byte : std::span(data, size)) seed = (seed ^ byte) * 1099511628211U;
  Random random{std::mt19937_64(seed)};
  std::string text;
  try {
    type_test::run_case(random, text);
  } catch (const Failure& failure) {
    ps::fuzz::require(false, (failure.text + ": " + text).c_str());
  }
}
