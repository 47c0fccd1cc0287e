#include "options.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

namespace jeans {
namespace {

[[noreturn]] void refuse(const std::string& words) {
  throw penstock::Error(penstock::ErrorClass::argument, words);
}

template <class Number>
Number number(std::string_view name, std::string_view text, Number least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least)) {
    std::string words =
        "--" + std::string(name) + " '" + std::string(text) + "' must be a number of at least ";
    words += std::to_string(least);
    refuse(words);
  }
  return value;
}

Index3 cells_of(std::string_view text) {
  Index3 cells{};
  std::string_view rest = text;
  for (int d = 0; d < 3; ++d) {
    const std::size_t comma = rest.find(',');
    if ((comma == std::string_view::npos) != (d == 2))
      refuse("--cells '" + std::string(text) + "' must be three numbers, as in 128,128,64");
    cells[d] = number<std::int64_t>("cells", rest.substr(0, comma), 8);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return cells;
}

void set_hint(penstock::Hints& hints, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    refuse("--hint '" + text + "' is no name=value of a hint, as in method=extended");
  hints.set({{text.substr(0, equals), text.substr(equals + 1)}});
}

struct Option {
  const char* value;  ///< in the help; empty: it has none
  const char* help;
  std::function<void(Options&, const std::string&)> set;
};

const std::map<std::string, Option, std::less<>>& table() {
  static const std::map<std::string, Option, std::less<>> options{
      {"amplitude",
       {"A", "of the perturbation (0.1; of a wave take 1e-4)",
        [](Options& o, const std::string& t) { o.amplitude = number<double>("amplitude", t, 0); }}},
      {"background",
       {"WHAT", "of a dump in the background: none, storage or all (none)",
        [](Options& o, const std::string& t) {
          o.dumps.background = penstock::parse_background(t);
        }}},
      {"cells",
       {"X,Y,Z", "multiples of 4 (128,128,64)",
        [](Options& o, const std::string& t) { o.cells = cells_of(t); }}},
      {"checkpoint",
       {"", "a file in double precision with each dump",
        [](Options& o, const std::string&) { o.dumps.checkpoint = true; }}},
      {"courant",
       {"C", "part of a cell that a signal crosses in a step (0.4)",
        [](Options& o, const std::string& t) {
          o.physics.courant = number<double>("courant", t, 1e-6);
        }}},
      {"dump-every",
       {"N", "iterations; 0: no dumps (5)",
        [](Options& o, const std::string& t) {
          o.dump_every = number<std::int64_t>("dump-every", t, 0);
        }}},
      {"folder",
       {"PATH", "of the files (the current one)",
        [](Options& o, const std::string& t) { o.dumps.folder = t; }}},
      {"gamma",
       {"G", "ratio of specific heats (5/3)",
        [](Options& o, const std::string& t) {
          o.physics.gamma = number<double>("gamma", t, 1.0001);
        }}},
      {"hint",
       {"NAME=VALUE", "for Penstock; repeat it for several",
        [](Options& o, const std::string& t) { set_hint(o.dumps.hints, t); }}},
      {"iterations",
       {"N", "(20)",
        [](Options& o, const std::string& t) {
          o.iterations = number<std::int64_t>("iterations", t, 0);
        }}},
      {"lengths",
       {"L", "Jeans lengths in the box (4)",
        [](Options& o, const std::string& t) { o.lengths = number<double>("lengths", t, 0); }}},
      {"quiet",
       {"", "no line for each iteration", [](Options& o, const std::string&) { o.quiet = true; }}},
      {"record",
       {"PATH", "a line of JSON about the run is added to this file",
        [](Options& o, const std::string& t) { o.record = t; }}},
      {"restart",
       {"PATH", "begin with this restart file, or checkpoint",
        [](Options& o, const std::string& t) { o.restart = t; }}},
      {"wave",
       {"N", "a plane wave of N wavelengths instead of a cloud",
        [](Options& o, const std::string& t) { o.wave = number<std::int64_t>("wave", t, 1); }}},
  };
  return options;
}

}  // namespace

Options Options::parse(int argc, char** argv) {
  Options options;
  options.dumps.folder = ".";
  for (int i = 1; i < argc; ++i) {
    const std::string_view given = argv[i];
    const auto found = given.starts_with("--") ? table().find(given.substr(2)) : table().end();
    if (found == table().end())
      refuse("'" + std::string(given) + "' is no option; --help lists them");
    const bool has_value = *found->second.value != '\0';
    if (has_value && i + 1 == argc)
      refuse("--" + found->first + " needs a value: " + found->second.value);
    found->second.set(options, has_value ? argv[++i] : "");
  }
  return options;
}

std::string Options::help() {
  std::string text =
      "Self-gravitating gas in a periodic box, with dumps as in Thakur, Gropp and Lusk (1996).\n"
      "  mpiexec -n RANKS jeans [OPTIONS]\n";
  for (const auto& [name, option] : table()) {
    std::string left = "  --" + name + " " + option.value;
    left.resize(std::max<std::size_t>(left.size() + 1, 26), ' ');
    text += left + option.help + "\n";
  }
  return text;
}

}  // namespace jeans
