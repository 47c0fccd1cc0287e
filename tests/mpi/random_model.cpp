// Random requests against a byte-by-byte model. Every rank derives the requests of all ranks from
// one seed, so every rank knows what the file must hold.
//
//   mpiexec -n 4 random_model --cases 200 --seed 1        a run
//   mpiexec -n 4 random_model --replay 1:17               the case that a failure named
//   --stress     many "nodes", tiny windows, few aggregators: what goes through node proxies
//   --repeat N   each case so many times
//   --limit S    seconds for one case; then it counts as hanging
//   --folder F   where a folder is made for the file, of several hosts; default: /tmp
//
// One case in four asks in bytes: nested patterns of the file and of memory, each rank its own.
#include <filesystem>

#include "file/process.hpp"
#include "random_case.hpp"

namespace {

unsigned char value_of(int rank, std::size_t part, std::int64_t k, std::int64_t byte) {
  const std::uint64_t mixed =
      (static_cast<std::uint64_t>(rank) * 31 + part * 17 + k * 131 + byte * 7 + 1) *
      0x9E3779B97F4A7C15ULL;
  return static_cast<unsigned char>(mixed >> 56);
}

void require(bool condition, const std::string& text) {
  if (!condition) throw Failure{text};
}

class CaseRun {
 public:
  CaseRun(MPI_Comm comm, const std::string& folder, const Case& c) : comm_(comm), c_(c) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    path_ = folder + (c.npy ? "/case.npy" : "/case.raw");
  }

  void run() {
    Random memory_random{std::mt19937_64(c_.memory_seed + static_cast<std::uint64_t>(rank_))};
    prepare();
    ps::ArraySpec spec;
    spec.shape = c_.array.shape;
    spec.element_size = c_.array.element_size;
    spec.dtype = "|V" + std::to_string(c_.array.element_size);
    spec.order = c_.array.order;
    spec.offset = c_.npy ? 0 : c_.offset;
    ps::Hints at_open;
    at_open.storage = c_.write_hints.storage;
    at_open.ranks_per_node = c_.write_hints.ranks_per_node;
    at_open.device = c_.write_hints.device;
    ps::ArrayFile::Impl file(ps::background_of_process(), ps::Communicator(comm_), path_,
                             c_.npy ? ps::Mode::create : ps::Mode::read_write, spec, at_open);
    start_ = file.data_offset();
    if (c_.npy) model_ = whole_file(path_);
    quiet_barrier(comm_);
    do_write(file, memory_random);
    quiet_barrier(comm_);
    check_file(whole_file(path_));
    quiet_barrier(comm_);
    do_read(file, memory_random);
    file.bytes().close();
  }

 private:
  void prepare() {
    model_.resize(static_cast<std::size_t>(c_.offset + c_.array.bytes() + 77));
    for (std::size_t i = 0; i < model_.size(); ++i)
      model_[i] = static_cast<unsigned char>(i * 37 + i / 251);
    if (rank_ == 0) {
      std::filesystem::remove(path_);
      if (!c_.npy)
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<char*>(model_.data()),
                   static_cast<std::streamsize>(model_.size()));
    }
    quiet_barrier(comm_);
  }

  const ModelRequest& own(const Requests& of_all) const {
    return of_all[static_cast<std::size_t>(rank_)];
  }

  void do_write(ps::ArrayFile::Impl& file, Random& r) {
    const ModelRequest& request = own(c_.writes);
    Memories memories = draw_memories(r, request, c_.array.element_size);
    for (std::size_t p = 0; p < memories.size(); ++p)
      for (std::size_t k = 0; k < memories[p].places.size(); ++k)
        for (std::int64_t b = 0; b < c_.array.element_size; ++b)
          memories[p].bytes[static_cast<std::size_t>(memories[p].places[k] + b)] =
              value_of(rank_, p, static_cast<std::int64_t>(k), b);
    transfer(file, ps::Direction::write, request, memories, c_.write_hints, c_.write_mode);
    check_memory(file, c_.write_hints);
    file.bytes().size();  // afterwards the file has what was buffered
  }

  static void transfer(ps::ArrayFile::Impl& file, ps::Direction direction,
                       const ModelRequest& request, Memories& memories, const ps::Hints& hints,
                       std::optional<ps::Background> mode) {
    const auto begun = carry_out(file, direction, request, memories, hints, mode);
    if (begun) file.bytes().end(*begun);
  }

  void check_memory(const ps::ArrayFile::Impl& file, const ps::Hints& hints) {
    if (file.calls().last_method() < ps::Method::gather || hints.buffer_size < 512) return;
    // These hold all parcels of a round, as in the paper; see docs/hints.md.
    if (hints.exchange != ps::Exchange::automatic && hints.exchange != ps::Exchange::node &&
        hints.exchange != ps::Exchange::sparse)
      return;
    require(file.bytes().last_call().staging_peak <= 2 * hints.buffer_size,
            "staging memory " + std::to_string(file.bytes().last_call().staging_peak) +
                " is above twice the buffer");
  }

  void check_file(const Bytes& file) {
    require(file.size() == model_.size(), "file has " + std::to_string(file.size()) +
                                              " bytes, expected " + std::to_string(model_.size()));
    const Writers writers = write_to_model();
    if (is_independent(c_.write_hints.method)) accept_any_writer(writers, file);
    for (std::size_t i = 0; i < file.size(); ++i)
      if (file[i] != model_[i])
        throw Failure{"byte " + std::to_string(i) + " of the file is " + std::to_string(file[i]) +
                      ", expected " + std::to_string(model_[i]) + " (array begins at " +
                      std::to_string(start_) + ")"};
  }

  /// The writer of an element, and which of its own elements it wrote.
  struct Writer {
    int rank;
    std::size_t part;
    std::int64_t k;
  };
  using Writers = std::vector<std::vector<Writer>>;  // of each element

  /// The highest rank wins, with its last part. Returns the writers of each element, for each rank
  /// its last part.
  Writers write_to_model() {
    const std::int64_t size = c_.array.element_size;
    Writers writers(static_cast<std::size_t>(c_.array.bytes() / size));
    for (int rank = 0; rank < size_; ++rank) {
      const ModelRequest& request = c_.writes[static_cast<std::size_t>(rank)];
      for (std::size_t p = 0; p < request.parts(); ++p) {
        std::int64_t k = 0;
        for (const std::int64_t place : request.places(c_.array, p)) {
          for (std::int64_t b = 0; b < size; ++b)
            model_[static_cast<std::size_t>(start_ + place + b)] = value_of(rank, p, k, b);
          std::vector<Writer>& of_element = writers[static_cast<std::size_t>(place / size)];
          if (!of_element.empty() && of_element.back().rank == rank) of_element.pop_back();
          of_element.push_back({rank, p, k++});
        }
      }
    }
    return writers;
  }

  /// If several ranks write an element, any of them may win, but with the whole element.
  void accept_any_writer(const Writers& writers, const Bytes& file) {
    const std::int64_t size = c_.array.element_size;
    for (std::size_t e = 0; e < writers.size(); ++e) {
      const std::int64_t at = start_ + static_cast<std::int64_t>(e) * size;
      const auto wins = [&](const Writer& writer) {
        for (std::int64_t b = 0; b < size; ++b)
          if (file[static_cast<std::size_t>(at + b)] !=
              value_of(writer.rank, writer.part, writer.k, b))
            return false;
        return true;
      };
      if (std::ranges::any_of(writers[e], wins))
        std::copy_n(file.begin() + at, size, model_.begin() + at);
    }
  }

  void do_read(ps::ArrayFile::Impl& file, Random& r) {
    const ModelRequest& request = own(c_.reads);
    Memories memories = draw_memories(r, request, c_.array.element_size);
    transfer(file, ps::Direction::read, request, memories, c_.read_hints, c_.read_mode);
    check_memory(file, c_.read_hints);
    for (std::size_t p = 0; p < memories.size(); ++p) {
      Bytes expected(memories[p].bytes.size(), Memory::untouched);
      const auto places = request.places(c_.array, p);
      for (std::size_t k = 0; k < places.size(); ++k)
        std::copy_n(model_.begin() + start_ + places[k], c_.array.element_size,
                    expected.begin() + memories[p].places[k]);
      require(expected == memories[p].bytes, "part " + std::to_string(p) + " of rank " +
                                                 std::to_string(rank_) + " was read wrongly");
    }
  }

  MPI_Comm comm_;
  const Case& c_;
  int rank_ = 0, size_ = 1;
  std::string path_;
  std::int64_t start_ = 0;
  Bytes model_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options("random_model", 100, argc, argv);
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  is_on_several_hosts = options.folder != "/tmp";
  std::string folder = options.folder + "/penstock-random-XXXXXX";
  if (rank == 0 && mkdtemp(folder.data()) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(folder.data(), static_cast<int>(folder.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  for (std::uint64_t turn = options.first * options.repeat; turn < options.cases * options.repeat;
       ++turn) {
    const std::uint64_t number = turn / options.repeat;
    const Case c = random_case(options.seed, number, size, is_stressed(options.stress, number));
    const std::string replay = options.replay(size, number);
    watch(rank, replay, options.limit);
    std::string what;
    if (rank == 0 && options.replays && turn % options.repeat == 0)
      describe(c);  // in case it hangs
    try {
      CaseRun(MPI_COMM_WORLD, folder, c).run();
    } catch (const Failure& failure) {
      what = failure.text;
    } catch (const std::exception& error) {
      what = error.what();
    }
    // A rank that found a fault leaves the case's collectives: end the run at once.
    if (what.empty()) continue;
    std::fprintf(stderr, "FAILED on rank %d: %s\n%s", rank, what.c_str(), replay.c_str());
    describe(c);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  alarm(0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::filesystem::remove_all(folder);
    std::printf("%llu random cases on %d ranks agree with the model\n",
                static_cast<unsigned long long>(options.cases - options.first), size);
  }
  MPI_Finalize();
  return 0;
}
