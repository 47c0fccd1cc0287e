// Runs one fuzzer: first each file of its corpus as it is, then inputs made from these.
//
//   fuzz_npy CORPUS [--executions N] [--seconds S] [--seed N]    whichever comes first
//   fuzz_npy CORPUS --replay 1:17 [--save FILE]                   the input that a failure named
//   fuzz_npy FILE                                                 one input
//
// An input that takes more than a second of processor time is a failure, too.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz.hpp"
#include "support/random.hpp"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;
using Random = penstock::test::Random;

constexpr std::size_t longest_input = 1 << 14;
constexpr int most_seconds = 60;  // for one input, on a busy machine, until it counts as a hang

struct Options {
  fs::path corpus;
  std::uint64_t executions = ~std::uint64_t{0}, seed = 1;
  std::int64_t replay = -1;
  double seconds = 1e9;
  std::string save;
};

char current[256];  // the input being run, for the handler

/// Async-signal-safe. Sanitizers print their report first, or instead.
void report_input(int number) {
  static_cast<void>(!::write(2, current, std::strlen(current)));
  ::signal(number, SIG_DFL);
  ::raise(number);
}

void begin(const std::string& what) {
  std::snprintf(current, sizeof current, "\nFAILED: %s\n", what.c_str());
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double slow = 5;
#else
constexpr double slow = 1;
#endif

bool run(const Bytes& input) {
  ::alarm(most_seconds);
  const double before = processor_seconds();
  // A copy of the exact length: sanitizers detect each byte that is read beyond it.
  const std::vector<std::uint8_t> exact(input.begin(), input.end());
  std::string problem;
  try {
    fuzz_one(exact.data(), exact.size());
  } catch (const std::exception& error) {
    problem = std::string("threw ") + error.what();
  }
  const double took = processor_seconds() - before;
  if (took > slow) problem = "took " + std::to_string(took) + " s";
  if (!problem.empty()) std::fprintf(stderr, "%s%s\n", current, problem.c_str());
  return problem.empty();
}

Bytes read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

std::vector<Bytes> read_corpus(const fs::path& folder, std::vector<std::string>& names) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  std::vector<Bytes> corpus;
  for (const std::string& name : names) corpus.push_back(read(folder / name));
  return corpus;
}

void insert(Bytes& input, std::size_t at, std::span<const std::uint8_t> what) {
  input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), what.begin(), what.end());
}

std::size_t place_in(Random& r, std::size_t size) {
  return static_cast<std::size_t>(r.in(0, static_cast<std::int64_t>(size)));
}

/// A number that often causes errors, as text or in binary.
Bytes odd_number(Random& r) {
  const std::uint64_t near = std::uint64_t{1} << r.in(0, 63);
  const std::uint64_t number = near + static_cast<std::uint64_t>(r.in(-2, 2));
  if (r.chance(50)) {
    const std::string text = std::to_string(static_cast<std::int64_t>(number));
    return Bytes(text.begin(), text.end());
  }
  Bytes bytes(static_cast<std::size_t>(1) << r.in(0, 3));
  std::memcpy(bytes.data(), &number, bytes.size());
  return bytes;
}

void mutate(Bytes& input, Random& r, const std::vector<Bytes>& corpus) {
  const std::size_t at = place_in(r, input.size());
  const std::size_t length = std::min(input.size() - at, place_in(r, 32));
  const auto first = input.begin() + static_cast<std::ptrdiff_t>(at);
  const auto words = fuzz_words();
  switch (r.in(0, 7)) {
    case 0:
      if (at < input.size()) input[at] = static_cast<std::uint8_t>(r.in(0, 255));
      return;
    case 1:
      if (at < input.size()) input[at] ^= static_cast<std::uint8_t>(1 << r.in(0, 7));
      return;
    case 2: input.erase(first, first + static_cast<std::ptrdiff_t>(length)); return;
    case 3: return insert(input, at, Bytes(first, first + static_cast<std::ptrdiff_t>(length)));
    case 4: {
      const Bytes number = odd_number(r);
      if (r.chance(70))
        input.erase(first, first + static_cast<std::ptrdiff_t>(std::min(length, number.size())));
      return insert(input, at, number);
    }
    case 5: {
      const Bytes& other = corpus[place_in(r, corpus.size() - 1)];
      const std::size_t from = place_in(r, other.size());
      return insert(
          input, at,
          std::span(other).subspan(from, std::min(other.size() - from, place_in(r, 200))));
    }
    case 6:  // repetition
      for (std::int64_t left = r.in(1, 100); left > 0 && input.size() < longest_input; --left)
        insert(input, at,
               Bytes(input.begin() + static_cast<std::ptrdiff_t>(at),
                     input.begin() + static_cast<std::ptrdiff_t>(at + length)));
      return;
    default: {
      const std::string_view word = words[place_in(r, words.size() - 1)];
      if (r.chance(50))
        input.erase(first, first + static_cast<std::ptrdiff_t>(std::min(length, word.size())));
      return insert(input, at, Bytes(word.begin(), word.end()));
    }
  }
}

/// The input with this number, reproducible anywhere.
Bytes input_of(std::uint64_t seed, std::uint64_t number, const std::vector<Bytes>& corpus) {
  Random r{std::mt19937_64(seed * 1000003 + number)};
  Bytes input = corpus[place_in(r, corpus.size() - 1)];
  for (std::int64_t left = r.in(1, 6); left > 0; --left) mutate(input, r, corpus);
  if (input.size() > longest_input) input.resize(longest_input);
  return input;
}

Options options_of(int argc, char** argv) {
  Options options;
  options.corpus = argc > 1 ? argv[1] : "";
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i], value = argv[i + 1];
    if (name == "--executions") options.executions = std::stoull(argv[i + 1]);
    else if (name == "--seconds") options.seconds = std::stod(argv[i + 1]);
    else if (name == "--seed") options.seed = std::stoull(argv[i + 1]);
    else if (name == "--save") options.save = value;
    else if (name == "--replay") {
      options.seed = std::stoull(argv[i + 1]);
      options.replay = std::stoll(std::string(value.substr(value.find(':') + 1)));
    } else {
      std::fprintf(stderr, "%s is not known: see tests/fuzz/driver.cpp\n", argv[i]);
      std::exit(2);
    }
  }
  return options;
}

/// The program's exit status: 0 on success.
int run_all(const Options& options) {
  std::vector<std::string> names;
  const std::vector<Bytes> corpus = read_corpus(options.corpus, names);
  if (corpus.empty()) return std::fprintf(stderr, "%s is empty\n", options.corpus.c_str()), 2;
  if (options.replay >= 0) {
    const Bytes input = input_of(options.seed, static_cast<std::uint64_t>(options.replay), corpus);
    if (!options.save.empty())
      std::ofstream(options.save, std::ios::binary)
          .write(reinterpret_cast<const char*>(input.data()), std::ssize(input));
    return run(input) ? 0 : 1;
  }
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    begin((options.corpus / names[i]).string());
    if (!run(corpus[i])) return 1;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::uint64_t number = 0;
  for (; number < options.executions && elapsed() < options.seconds; ++number) {
    begin("--replay " + std::to_string(options.seed) + ":" + std::to_string(number));
    if (!run(input_of(options.seed, number, corpus))) return 1;
  }
  ::alarm(0);
  std::printf("%zu files and %llu inputs in %.1f s\n", corpus.size(),
              static_cast<unsigned long long>(number), elapsed());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM})
    ::signal(number, report_input);
  const Options options = options_of(argc, argv);
  begin(options.corpus.string());
  if (fs::is_directory(options.corpus)) return run_all(options);
  return run(read(options.corpus)) ? 0 : 1;
}
