// Random sequences of calls on files whose writes are buffered and whose operations are in flight,
// against a model of bytes. Every rank derives the whole sequence from one seed, so every rank
// knows at each moment what the files must hold: the last call that wrote a byte wins, whoever of
// the ranks carried it out, and a read gives what was written before it began.
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

#include "model_support.hpp"

namespace {

unsigned char value_of(std::int64_t call, int rank, std::int64_t at) {
  const std::uint64_t mixed =
      static_cast<std::uint64_t>(call * 1000003 + rank * 8191 + at * 131 + 1) *
      0x9E3779B97F4A7C15ULL;
  return static_cast<unsigned char>(mixed >> 56);
}

class CaseRun {
 public:
  CaseRun(MPI_Comm comm, const std::string& folder, std::uint64_t seed, std::uint64_t number,
          int steps, bool stressed)
      : comm_(comm),
        r_{std::mt19937_64(seed * 1000003 + number)},
        steps_(steps),
        stressed_(stressed) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    files_.resize(static_cast<std::size_t>(r_.in(1, 2)));
    for (std::size_t i = 0; i < files_.size(); ++i)
      make(files_[i], folder + "/f" + std::to_string(i));
  }

  void run() {
    for (int step = 0; step < steps_; ++step) {
      File& file =
          files_[static_cast<std::size_t>(r_.in(0, static_cast<std::int64_t>(files_.size()) - 1))];
      one_step(file);
    }
    for (File& file : files_) {
      close(file);
      check(file);
    }
    for (Close& closing : closing_) closing.handle.wait();
  }

  /// What was done, for people.
  const std::vector<std::string>& log() const { return log_; }

 private:
  struct Pending {
    ps::Handle handle;
    std::size_t used;
    bool reads, exchanges_later;  // a read in halves, or one that a thread carries out
    std::shared_ptr<Bytes> memory;
    Bytes expected;  // of a read
    std::int64_t call;
  };
  struct File {
    std::string path;
    std::int64_t rows, columns, element, offset;
    Bytes model;
    ps::StorageKind storage;
    std::int64_t ranks_per_node;
    std::string device;
    std::vector<std::unique_ptr<ps::ArrayFile>> opened;  // of the same ranks
    std::size_t used = 0;                                // used last
    std::vector<Pending> pending;
    std::vector<std::shared_ptr<Bytes>> kept;  // of handles that were dropped
    std::int64_t end() const { return offset + rows * columns * element; }
  };
  struct Close {
    ps::Handle handle;
    std::vector<std::shared_ptr<Bytes>> memory;
  };

  void make(File& file, std::string path) {
    file.path = std::move(path);
    file.rows = r_.in(1, 40);
    file.columns = r_.in(size_, 64);
    file.element = r_.pick<std::int64_t>({1, 4, 8, 24});
    file.offset = r_.pick<std::int64_t>({0, 0, 64, 1000});
    file.model.assign(static_cast<std::size_t>(file.end()), 0);
    for (std::size_t i = 0; i < file.model.size(); ++i)
      file.model[i] = static_cast<unsigned char>(i * 37 + i / 251);
    if (rank_ == 0)
      std::ofstream(file.path, std::ios::binary)
          .write(reinterpret_cast<const char*>(file.model.data()),
                 static_cast<std::streamsize>(file.model.size()));
    quiet_barrier(comm_);
    open(file);
  }

  void open(File& file) {
    // Those that are open on one file go the same way to it: what went past the page cache and what
    // went through it are the kernel's to join, and it makes no promises.
    if (file.opened.empty()) {
      file.storage = r_.pick({ps::StorageKind::automatic, ps::StorageKind::automatic,
                              ps::StorageKind::automatic, ps::StorageKind::direct,
                              ps::StorageKind::uring, ps::StorageKind::uring_direct});
      file.ranks_per_node = r_.pick<std::int64_t>({0, 0, 1, 2, 3});
      file.device = random_device(r_);
      if (stressed_) file.ranks_per_node = few_ranks_per_node(r_);
    }
    ps::ArraySpec spec;
    spec.shape = {file.rows, file.columns};
    spec.element_size = file.element;
    spec.offset = file.offset;
    spec.container = ps::Container::raw;
    ps::Hints hints;
    hints.storage = file.storage;
    hints.ranks_per_node = file.ranks_per_node;
    hints.device = file.device;
    note(file, "open");
    file.opened.push_back(std::make_unique<ps::ArrayFile>(
        ps::ArrayFile::open(comm_, file.path, ps::Mode::read_write, spec, hints)));
  }

  ps::Hints random_hints(const File& file) {
    ps::Hints h = ::random_hints(r_, size_, file.element);
    // The default more often than others: it is what leaves most behind.
    if (r_.chance(40)) h.active_buffer_size = 64 << 20;
    h.storage = file.storage;
    h.ranks_per_node = file.ranks_per_node;
    h.device = file.device;
    if (stressed_ && r_.chance(60)) stress(r_, h, size_, file.element, file.end());
    return h;
  }

  /// One section for each rank. `disjoint`: no element is two ranks'.
  std::vector<ps::Section> random_sections(const File& file, bool disjoint) {
    std::vector<ps::Section> sections(static_cast<std::size_t>(size_));
    if (!disjoint) {
      for (auto& section : sections)
        if (!r_.chance(15))
          section = grid(random_range(r_, file.rows), random_range(r_, file.columns));
      return sections;
    }
    const ps::Range rows = random_range(r_, file.rows);
    const bool blocks = r_.chance(50);
    const std::int64_t turn =
        r_.in(0, size_ - 1);  // the same elements are now one's, now another's
    for (int rank = 0; rank < size_; ++rank) {
      const std::int64_t place = (rank + turn) % size_;
      if (r_.chance(10)) continue;
      sections[static_cast<std::size_t>(rank)] =
          blocks ? grid(rows, {file.columns * place / size_, file.columns * (place + 1) / size_})
          : r_.chance(50) ? grid(rows, {place, file.columns, size_})
                          : grid({rows.lower, rows.upper}, {place, file.columns, size_});
    }
    return sections;
  }

  /// Where each element of a section lies in the file, in the order of dense memory.
  static std::vector<std::int64_t> places(const File& file, const ps::Section& section) {
    std::vector<std::int64_t> all;
    if (section.dimensions().empty()) return all;
    const ps::Range rows = std::get<ps::Range>(section.dimensions()[0]);
    const ps::Range columns = std::get<ps::Range>(section.dimensions()[1]);
    const auto inside = [](const ps::Range& range, std::int64_t i) {
      return (i - range.lower) % range.stride < range.block;
    };
    for (auto i = rows.lower; i < rows.upper; ++i) {
      if (!inside(rows, i)) continue;
      for (auto j = columns.lower; j < columns.upper; ++j)
        if (inside(columns, j)) all.push_back(file.offset + (i * file.columns + j) * file.element);
    }
    return all;
  }

  void one_step(File& file) {
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

  /// An open file. Between two that are open on the same file, only what has reached the active
  /// buffer is in order.
  ps::ArrayFile& pick(File& file) {
    const auto used = static_cast<std::size_t>(
        r_.chance(70) ? static_cast<std::int64_t>(std::min(file.used, file.opened.size() - 1))
                      : r_.in(0, static_cast<std::int64_t>(file.opened.size()) - 1));
    if (used != file.used) end_exchanges(file);
    file.used = used;
    return *file.opened[used];
  }

  void end_exchanges(File& file) {
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

  void write(File& file) {
    ps::ArrayFile& at = pick(file);
    const ps::Hints hints = random_hints(file);
    const auto sections = random_sections(file, is_independent(hints.method) || r_.chance(50));
    const auto mode = random_mode();
    const bool drop = r_.chance(10), scribble = r_.chance(30);
    const std::int64_t call = ++calls_;
    note(file, "write", &hints, mode, sections, drop ? "dropped" : scribble ? "scribbled" : "");
    auto memory = std::make_shared<Bytes>();
    for (int rank = 0; rank < size_; ++rank) {
      std::int64_t k = 0;
      for (const std::int64_t place : places(file, sections[static_cast<std::size_t>(rank)]))
        for (std::int64_t b = 0; b < file.element; ++b, ++k) {
          file.model[static_cast<std::size_t>(place + b)] = value_of(call, rank, k);
          if (rank == rank_) memory->push_back(value_of(call, rank, k));
        }
    }
    memory->push_back(0);  // never empty
    const ps::Section& mine = sections[static_cast<std::size_t>(rank_)];
    const ps::Part<ps::WriteView> part{
        mine, {reinterpret_cast<const std::byte*>(memory->data()), {}, {}, memory->size(), 0}};
    const std::span<const ps::Part<ps::WriteView>> parts(&part, 1);
    if (!mode) {
      at.write(parts, &hints);
      std::fill(memory->begin(), memory->end(), 0xDD);  // the memory is the program's again
      return;
    }
    Pending pending{at.write_begin(parts, *mode, &hints),
                    file.used,
                    false,
                    *mode == ps::Background::all,
                    memory,
                    {},
                    call};
    if (scribble) {
      if (!pending.handle.copied()) throw Failure{"copied() waited and said no"};
      std::fill(memory->begin(), memory->end(), 0xDD);
    }
    if (drop && !pending.exchanges_later) {
      file.kept.push_back(memory);
      return;
    }
    file.pending.push_back(std::move(pending));
  }

  void read(File& file) {
    ps::ArrayFile& at = pick(file);
    const ps::Hints hints = random_hints(file);
    const auto sections = random_sections(file, r_.chance(50));
    const auto mode = random_mode();
    note(file, "read", &hints, mode, sections);
    const ps::Section& mine = sections[static_cast<std::size_t>(rank_)];
    Bytes expected;
    for (const std::int64_t place : places(file, mine))
      expected.insert(expected.end(), file.model.begin() + place,
                      file.model.begin() + place + file.element);
    auto memory = std::make_shared<Bytes>(expected.size() + 1, 0xEE);
    expected.push_back(0xEE);  // nothing is written past the end
    const ps::Part<ps::ReadView> part{
        mine, {reinterpret_cast<std::byte*>(memory->data()), {}, {}, memory->size(), 0}};
    const std::span<const ps::Part<ps::ReadView>> parts(&part, 1);
    if (!mode) {
      at.read(parts, &hints);
      return compare(file, *memory, expected, "read");
    }
    file.pending.push_back({at.read_begin(parts, *mode, &hints), file.used, true,
                            *mode != ps::Background::none, memory, std::move(expected), calls_});
  }

  void compare(const File& file, const Bytes& got, const Bytes& expected, const char* what) {
    for (std::size_t i = 0; i < got.size(); ++i)
      if (got[i] != expected[i])
        throw Failure{std::string(what) + " of '" + file.path + "': byte " + std::to_string(i) +
                      " of rank " + std::to_string(rank_) + " is " + std::to_string(got[i]) +
                      ", expected " + std::to_string(expected[i])};
  }

  void end(File& file, std::size_t i) {
    Pending& pending = file.pending[i];
    note(file,
         pending.reads ? "wait for a read" : "wait for write " + std::to_string(pending.call));
    pending.handle.wait();
    if (!pending.handle.test() || !pending.handle.copied(false))
      throw Failure{"wait() returned, but test() or copied() says no"};
    if (pending.reads) compare(file, *pending.memory, pending.expected, "a read in two halves");
    file.kept.push_back(pending.memory);
    file.pending.erase(file.pending.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void wait_for_one(File& file) {
    if (file.pending.empty()) return;
    const std::int64_t count = static_cast<std::int64_t>(file.pending.size());
    end(file, static_cast<std::size_t>(r_.chance(60) ? 0 : r_.in(0, count - 1)));
  }

  void look(File& file) {  // at a handle, without a word to other ranks
    for (Pending& pending : file.pending) {
      const bool over = pending.handle.test();
      if (over && !pending.reads && !pending.handle.copied(false))
        throw Failure{"a write is committed, but its memory in use"};
    }
  }

  void sync(File& file) {
    end_exchanges(file);
    note(file, "sync");
    pick(file).sync();
    check(file);
  }

  void check_size(File& file) {
    end_exchanges(file);
    note(file, "size");
    const std::int64_t size = pick(file).file_size();
    if (size != static_cast<std::int64_t>(file.model.size()))
      throw Failure{"file_size() is " + std::to_string(size) + ", expected " +
                    std::to_string(file.model.size())};
    check(file);
  }

  void truncate(File& file) {
    end_exchanges(file);
    const std::int64_t size = file.end() + r_.in(0, 300);
    note(file, "truncate to " + std::to_string(size));
    pick(file).truncate(size);
    file.model.resize(static_cast<std::size_t>(size), 0);
    check(file);
  }

  void reopen(File& file) {
    const bool later = r_.chance(50), wait = r_.chance(50);
    if (wait)
      while (!file.pending.empty()) end(file, 0);
    else end_exchanges(file);
    note(file, later ? "close without waiting" : "close");
    if (!later) {
      close(file);
      check(file);
    } else {
      Close closing{file.opened.back()->close_begin(), file.kept};
      for (const Pending& pending : file.pending) closing.memory.push_back(pending.memory);
      file.opened.pop_back();
      for (auto& each : file.opened) each->close();
      if (r_.chance(50)) {
        closing.handle.wait();
        check(file);
      } else {
        closing_.push_back(std::move(closing));
      }
      forget(file);
    }
    open(file);
  }

  void close(File& file) {
    end_exchanges(file);
    for (auto& each : file.opened) each->close();
    forget(file);
  }

  void forget(File& file) {
    file.opened.clear();
    file.pending.clear();
    file.kept.clear();
    file.used = 0;
  }

  /// Nothing is under way in this file on any rank.
  void check(File& file) {
    quiet_barrier(comm_);
    const Bytes bytes = whole_file(file.path);
    if (bytes.size() != file.model.size())
      throw Failure{"'" + file.path + "' has " + std::to_string(bytes.size()) +
                    " bytes, expected " + std::to_string(file.model.size())};
    compare(file, bytes, file.model, "content");
    quiet_barrier(comm_);
  }

  void note(const File& file, std::string text, const ps::Hints* hints = nullptr,
            std::optional<ps::Background> mode = {}, const std::vector<ps::Section>& sections = {},
            const std::string& more = "") {
    text = file.path.substr(file.path.rfind('/') + 1) + " opening " + std::to_string(file.used) +
           "/" + std::to_string(file.opened.size()) + ": " + text;
    if (hints != nullptr) {
      text += " " + std::to_string(calls_) + " " + name_of(mode) + " " + more + "\n     ";
      for (const auto& [name, value] : hints->text()) text += name + "=" + value + " ";
      for (const auto& section : sections) text += "\n     " + section.to_string();
    }
    log_.push_back(std::move(text));
  }

  MPI_Comm comm_;
  Random r_;
  int steps_, rank_ = 0, size_ = 1;
  bool stressed_;
  std::int64_t calls_ = 0;
  std::vector<File> files_;
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
    // A rank that found a fault has left the sequence: end the run at once.
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
