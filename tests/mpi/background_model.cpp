// Random sequences of calls on files whose writes are buffered and whose operations are in flight,
// against a model of bytes. Every rank derives the whole sequence from one seed, so every rank
// knows at each moment what the files must hold: the last call that wrote a byte wins, whoever of
// the ranks carried it out, and a read gives what was written before it began.
//
// In every other case two of three calls ask in bytes: nested patterns of the file and of memory,
// each rank its own.
//
//   mpiexec -n 4 background_model --cases 100 --seed 1    a run
//   mpiexec -n 4 background_model --replay 1:17           the case that a failure named
//   --steps N    calls of one case
//   --stress     many "nodes", tiny windows, few aggregators: what goes through node proxies
//   --repeat N   each case so many times
//   --limit S    seconds for one case; then it counts as hanging
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <penstock/penstock.hpp>

#include "background_file.hpp"

namespace {

class CaseRun {
 public:
  CaseRun(MPI_Comm comm, const std::string& folder, std::uint64_t seed, std::uint64_t number,
          int steps, bool stressed)
      : comm_(comm),
        r_{std::mt19937_64(seed * 1000003 + number)},
        steps_(steps),
        stressed_(stressed),
        in_bytes_(number % 2 == 1) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    files_.resize(static_cast<std::size_t>(r_.in(1, 2)));
    for (std::size_t i = 0; i < files_.size(); ++i)
      make(files_[i], folder + "/f" + std::to_string(i));
  }

  void run() {
    for (int step = 0; step < steps_; ++step) {
      BackgroundFile& file =
          files_[static_cast<std::size_t>(r_.in(0, static_cast<std::int64_t>(files_.size()) - 1))];
      one_step(file);
    }
    for (BackgroundFile& file : files_) {
      close(file);
      file.check(comm_);
    }
    for (Close& closing : closing_) closing.file->bytes().finish_close();
  }

  /// What was done, for messages.
  const std::vector<std::string>& log() const { return log_; }

 private:
  struct Close {
    std::shared_ptr<ps::ArrayFile::Impl> file;
    std::vector<std::shared_ptr<Memories>> memory;
  };

  void make(BackgroundFile& file, std::string path) {
    file.path = std::move(path);
    file.array.shape = {r_.in(1, 40), 0};
    file.array.shape[1] = r_.in(size_, 64);
    file.array.element_size = r_.pick<std::int64_t>({1, 4, 8, 24});
    file.offset = r_.pick<std::int64_t>({0, 0, 64, 1000});
    if (in_bytes_) file.array.element_size = 1;
    file.fill(rank_ == 0);
    quiet_barrier(comm_);
    open(file);
  }

  void open(BackgroundFile& file) {
    // Those that are open on one file access it in the same way: the kernel does not promise
    // consistency between accesses through and past the page cache.
    if (file.opened.empty()) {
      file.storage = r_.pick({ps::StorageKind::automatic, ps::StorageKind::automatic,
                              ps::StorageKind::automatic, ps::StorageKind::direct,
                              ps::StorageKind::uring, ps::StorageKind::uring_direct});
      file.ranks_per_node = r_.pick<std::int64_t>({0, 0, 1, 2, 3});
      file.device = random_device(r_);
      if (stressed_) file.ranks_per_node = few_ranks_per_node(r_);
    }
    note(file, "open");
    file.open(comm_);
  }

  ps::Hints random_hints(const BackgroundFile& file) {
    ps::Hints h = ::random_hints(r_, size_, file.array.element_size);
    // The default more often than others: it leaves most behind.
    if (r_.chance(40)) h.active_buffer_size = 64 << 20;
    file.set(h);
    if (stressed_ && r_.chance(60)) stress(r_, h, size_, file.array.element_size, file.end());
    return h;
  }

  /// One for each rank. `apart`: disjoint.
  Requests random_requests(const BackgroundFile& file, bool apart) {
    if (in_bytes_ && r_.chance(70)) return random_patterns(r_, file.array, size_, apart);
    return random_sections(r_, file.array, size_, apart);
  }

  const ModelRequest& own(const Requests& requests) const {
    return requests[static_cast<std::size_t>(rank_)];
  }

  /// For patterns, each rank's memory has a form of its own.
  std::shared_ptr<Memories> memories_of(const BackgroundFile& file, const ModelRequest& request) {
    const std::int64_t size = file.array.element_size;
    if (!in_bytes_) return std::make_shared<Memories>(dense_memories(request, size));
    Random own{std::mt19937_64(r_.engine() + static_cast<std::uint64_t>(rank_))};
    return std::make_shared<Memories>(draw_memories(own, request, size));
  }

  void one_step(BackgroundFile& file) {
    const std::int64_t what = r_.in(0, 99);
    if (what < 42) return write(file);
    if (what < 62) return read(file);
    if (what < 76) return wait_for_one(file);
    if (what < 80) return look(file);
    if (what < 84) return sync(file);
    if (what < 88) return check_size(file);
    if (what < 93) {
      if (file.opened.size() < 2) open(file);
      return;
    }
    if (what < 95) return truncate(file);
    reopen(file);
  }

  /// An open file. Between two handles of the same file, only what has reached the active buffer is
  /// ordered.
  std::shared_ptr<ps::ArrayFile::Impl> pick(BackgroundFile& file) {
    const auto used = static_cast<std::size_t>(
        r_.chance(70) ? static_cast<std::int64_t>(std::min(file.used, file.opened.size() - 1))
                      : r_.in(0, static_cast<std::int64_t>(file.opened.size()) - 1));
    if (used != file.used) end_exchanges(file);
    file.used = used;
    return file.opened[used];
  }

  void end_exchanges(BackgroundFile& file) {
    for (std::size_t i = 0; i < file.pending.size();)
      if (file.pending[i].exchanges_later) end(file, i);
      else ++i;
  }

  std::optional<ps::Background> random_mode() {
    const std::int64_t picked = r_.in(0, 9);
    if (picked < 4) return std::nullopt;
    return picked == 4  ? ps::Background::none
           : picked < 8 ? ps::Background::storage
                        : ps::Background::all;
  }

  void write(BackgroundFile& file) {
    const auto at = pick(file);
    const ps::Hints hints = random_hints(file);
    const Requests requests = random_requests(file, is_independent(hints.method) || r_.chance(50));
    const auto mode = random_mode();
    const bool drop = r_.chance(10), scribble = r_.chance(30);
    const std::int64_t call = ++calls_;
    note(file, "write", &hints, mode, requests, drop ? "dropped" : scribble ? "scribbled" : "");
    const auto memories = memories_of(file, own(requests));
    for (int rank = 0; rank < size_; ++rank)
      file.put(rank, call, requests[static_cast<std::size_t>(rank)],
               rank == rank_ ? memories.get() : nullptr);
    const auto begun = carry_out(*at, ps::Direction::write, own(requests), *memories, hints, mode);
    if (!begun) return scribble_over(*memories);  // the program may reuse it
    Pending pending{{at, begun}, file.used, false, *mode == ps::Background::all,
                    memories,    {},        call};
    if (scribble) {
      if (!pending.begun.copied()) throw Failure{"copied() waited and said no"};
      scribble_over(*memories);
    }
    if (drop && !pending.exchanges_later) file.kept.push_back(memories);
    else file.pending.push_back(std::move(pending));
  }

  static void scribble_over(Memories& memories) {
    for (Memory& memory : memories) std::ranges::fill(memory.bytes, 0xDD);
  }

  void read(BackgroundFile& file) {
    const auto at = pick(file);
    const ps::Hints hints = random_hints(file);
    const Requests requests = random_requests(file, r_.chance(50));
    const auto mode = random_mode();
    note(file, "read", &hints, mode, requests);
    const auto memories = memories_of(file, own(requests));
    std::vector<Bytes> expected = file.expected(own(requests), *memories);
    const auto begun = carry_out(*at, ps::Direction::read, own(requests), *memories, hints, mode);
    if (!begun) return file.compare(*memories, expected, "read");
    file.pending.push_back({{at, begun},
                            file.used,
                            true,
                            *mode != ps::Background::none,
                            memories,
                            std::move(expected),
                            calls_});
  }

  void end(BackgroundFile& file, std::size_t i) {
    Pending& pending = file.pending[i];
    note(file,
         pending.reads ? "wait for a read" : "wait for write " + std::to_string(pending.call));
    pending.begun.wait();
    if (!pending.begun.test() || !pending.begun.copied(false))
      throw Failure{"wait() returned, but test() or copied() says no"};
    if (pending.reads) file.compare(*pending.memories, pending.expected, "a read in two halves");
    file.kept.push_back(pending.memories);
    file.pending.erase(file.pending.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void wait_for_one(BackgroundFile& file) {
    if (file.pending.empty()) return;
    const std::int64_t count = static_cast<std::int64_t>(file.pending.size());
    end(file, static_cast<std::size_t>(r_.chance(60) ? 0 : r_.in(0, count - 1)));
  }

  void look(BackgroundFile& file) {  // queries a handle, without other ranks
    for (Pending& pending : file.pending) {
      const bool over = pending.begun.test();
      if (over && !pending.reads && !pending.begun.copied(false))
        throw Failure{"a write is committed, but its memory in use"};
    }
  }

  void sync(BackgroundFile& file) {
    end_exchanges(file);
    note(file, "sync");
    pick(file)->bytes().sync();
    file.check(comm_);
  }

  void check_size(BackgroundFile& file) {
    end_exchanges(file);
    note(file, "size");
    const std::int64_t size = pick(file)->bytes().size();
    if (size != static_cast<std::int64_t>(file.model.size()))
      throw Failure{"file_size() is " + std::to_string(size) + ", expected " +
                    std::to_string(file.model.size())};
    file.check(comm_);
  }

  void truncate(BackgroundFile& file) {
    end_exchanges(file);
    const std::int64_t size = file.end() + r_.in(0, 300);
    note(file, "truncate to " + std::to_string(size));
    pick(file)->bytes().truncate(size, std::nullopt);
    file.model.resize(static_cast<std::size_t>(size), 0);
    file.check(comm_);
  }

  void reopen(BackgroundFile& file) {
    const bool later = r_.chance(50), wait = r_.chance(50);
    if (wait)
      while (!file.pending.empty()) end(file, 0);
    else end_exchanges(file);
    note(file, later ? "close without waiting" : "close");
    if (!later) {
      close(file);
      file.check(comm_);
    } else {
      Close closing{file.opened.back(), file.kept};
      closing.file->bytes().begin_close();
      for (const Pending& pending : file.pending) closing.memory.push_back(pending.memories);
      file.opened.pop_back();
      for (auto& each : file.opened) each->bytes().close();
      if (r_.chance(50)) {
        closing.file->bytes().finish_close();
        file.check(comm_);
      } else {
        closing_.push_back(std::move(closing));
      }
      file.forget();
    }
    open(file);
  }

  void close(BackgroundFile& file) {
    end_exchanges(file);
    for (auto& each : file.opened) each->bytes().close();
    file.forget();
  }

  void note(const BackgroundFile& file, std::string text, const ps::Hints* hints = nullptr,
            std::optional<ps::Background> mode = {}, const Requests& requests = {},
            const std::string& more = "") {
    text = file.path.substr(file.path.rfind('/') + 1) + " opening " + std::to_string(file.used) +
           "/" + std::to_string(file.opened.size()) + ": " + text;
    if (hints != nullptr) {
      text += " " + std::to_string(calls_) + " " + name_of(mode) + " " + more + "\n     ";
      for (const auto& [name, value] : hints->text()) text += name + "=" + value + " ";
      for (std::size_t rank = 0; rank < requests.size(); ++rank)
        for (std::size_t p = 0; p < requests[rank].parts(); ++p)
          text += "\n     rank " + std::to_string(rank) + " " + requests[rank].text(p);
    }
    log_.push_back(std::move(text));
  }

  MPI_Comm comm_;
  Random r_;
  int steps_, rank_ = 0, size_ = 1;
  bool stressed_, in_bytes_;
  std::int64_t calls_ = 0;
  std::vector<BackgroundFile> files_;
  std::vector<Close> closing_;
  std::vector<std::string> log_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options("background_model", 50, argc, argv);
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (level < MPI_THREAD_MULTIPLE) {
    std::fprintf(stderr, "this MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  char folder[] = "/tmp/penstock-background-XXXXXX";
  if (rank == 0 && mkdtemp(folder) == nullptr) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (std::uint64_t turn = options.first * options.repeat; turn < options.cases * options.repeat;
       ++turn) {
    const std::uint64_t number = turn / options.repeat;
    const std::string replay =
        options.replay(size, number, " --steps " + std::to_string(options.steps));
    watch(rank, replay, options.limit);
    std::string what;
    std::optional<CaseRun> run;
    try {
      run.emplace(MPI_COMM_WORLD, folder, options.seed, number, options.steps,
                  is_stressed(options.stress, number));
      run->run();
    } catch (const Failure& failure) {
      what = failure.text;
    } catch (const std::exception& error) {
      what = error.what();
    }
    if (what.empty()) continue;
    // A rank that found a fault leaves the sequence: end the run at once.
    std::string text = "FAILED on rank " + std::to_string(rank) + ": " + what + "\n";
    if (run)
      for (std::size_t i = 0; i < run->log().size(); ++i)
        text += "  " + std::to_string(i) + " " + run->log()[i] + "\n";
    std::fprintf(stderr, "%s%s", text.c_str(), replay.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  alarm(0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::filesystem::remove_all(folder);
    std::printf("%llu random sequences on %d ranks agree with the model\n",
                static_cast<unsigned long long>(options.cases - options.first), size);
  }
  MPI_Finalize();
  return 0;
}
