// Random datatypes against MPI itself, each as type_case.hpp has it.
//
//   mpiexec -n 1 type_model --cases 4000 --seed 1        a run
//   mpiexec -n 1 type_model --replay 1:17                the case that a failure named
#include "type_case.hpp"

namespace {

using namespace type_test;

/// The failure; empty: none.
std::string run_case(std::uint64_t seed, std::uint64_t number, std::string& text) {
  Random random{std::mt19937_64(seed * 1000003 + number)};
  try {
    type_test::run_case(random, text);
  } catch (const Failure& failure) {
    return failure.text;
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const Options options("type_model", 1000, argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (std::uint64_t number = options.first; number < options.cases; ++number) {
    const std::string replay = options.replay(size, number);
    watch(rank, replay, options.limit);
    std::string text;
    const std::string what = run_case(options.seed, number, text);
    if (what.empty()) continue;
    std::fprintf(stderr, "FAILED on rank %d: %s\n%s  %s\n", rank, what.c_str(), replay.c_str(),
                 text.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  alarm(0);
  if (rank == 0)
    std::printf("%llu random datatypes agree with MPI\n",
                static_cast<unsigned long long>(options.cases - options.first));
  MPI_Finalize();
  return 0;
}
