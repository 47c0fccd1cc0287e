#include "mpi_io/mpi_hints.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/agree.hpp"
#include "mpi_io/mpi_error.hpp"
#include "plan/hint_table.hpp"
#include "storage/regular_file.hpp"

namespace penstock {
namespace {

constexpr std::string_view own_prefix = "penstock_";

/// Other libraries' names for hints that Penstock has.
constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
    {"cb_nodes", "aggregators"},
    {"cb_buffer_size", "buffer_size"},
    {"striping_unit", "stripe_size"},
};

/// For reads, and for writes.
constexpr const char* collective_names[] = {"romio_cb_read", "romio_cb_write"};
constexpr const char* sieving_names[] = {"romio_ds_read", "romio_ds_write"};
constexpr const char* buffer_names[] = {"ind_rd_buffer_size", "ind_wr_buffer_size"};
constexpr const char* no_independent_name = "romio_no_indep_rw";

/// For any file system. A name similar to one of these is assumed to be misspelt.
constexpr std::string_view romio_prefix = "romio_";
constexpr std::string_view romio_names[] = {"romio_aggregator_list",
                                            "romio_cb_alltoall",
                                            "romio_cb_ds_threshold",
                                            "romio_cb_fr_alignment",
                                            "romio_cb_fr_type",
                                            "romio_cb_fr_types",
                                            "romio_cb_pfr",
                                            "romio_cb_read",
                                            "romio_cb_write",
                                            "romio_ds_read",
                                            "romio_ds_write",
                                            "romio_filesystem_type",
                                            "romio_min_fdomain_size",
                                            "romio_no_indep_rw",
                                            "romio_synchronized_flush",
                                            "romio_visibility_immediate"};

/// Hints of the standard and of other libraries, which programs set for whatever MPI they run with;
/// those that Penstock does not use are silently ignored.
constexpr std::string_view names_of_others[] = {"access_style",
                                                "cb_block_size",
                                                "cb_config_list",
                                                "cb_nodes",
                                                "cb_buffer_size",
                                                "chunked",
                                                "chunked_item",
                                                "chunked_size",
                                                "collective_buffering",
                                                "direct_read",
                                                "direct_write",
                                                "file_perm",
                                                "filename",
                                                "ind_rd_buffer_size",
                                                "ind_wr_buffer_size",
                                                "io_node_list",
                                                "nb_proc",
                                                "no_locks",
                                                "num_io_nodes",
                                                "start_iodevice",
                                                "striping_factor",
                                                "striping_unit",
                                                "command",
                                                "argv",
                                                "maxprocs",
                                                "soft",
                                                "host",
                                                "arch",
                                                "wdir",
                                                "file",
                                                "path",
                                                "thread_level"};
constexpr std::string_view prefixes_of_others[] = {
    "romio_", "ompi_",  "ompio_",  "mpi_",  "mpich_", "nc_", "pnetcdf_",
    "h5_",    "hdf5_",  "cray_",   "ibm_",  "IBM_",   "bg_", "panfs_",
    "pvfs_",  "pvfs2_", "lustre_", "gpfs_", "daos_",  "e10_"};

/// Not settable: reported by MPI_File_get_info.
constexpr std::string_view reported_name = "penstock_aggregator_ranks";

bool has_prefix_of_others(std::string_view name) {
  return std::ranges::any_of(prefixes_of_others,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_slip_of_romio(std::string_view name) {
  if (!name.starts_with(romio_prefix) || std::ranges::count(romio_names, name) > 0) return false;
  name.remove_prefix(romio_prefix.size());
  if (has_prefix_of_others(name)) return false;  // of one of its file systems
  std::vector<std::string_view> known(std::begin(romio_names), std::end(romio_names));
  for (std::string_view& one : known) one.remove_prefix(romio_prefix.size());
  return !nearest_name(name, known).empty();
}

bool is_of_others(std::string_view name) {
  return std::ranges::count(names_of_others, name) > 0 ||
         (has_prefix_of_others(name) && !is_slip_of_romio(name));
}

bool is_own(std::string_view name) {
  return name == reported_name ||
         (name.starts_with(own_prefix) && find_hint(name.substr(own_prefix.size())) != nullptr);
}

/// For an unknown name.
std::string advice_on(std::string_view name) {
  std::vector<std::string_view> known;
  for (const HintRow& row : hint_table()) known.push_back(row.name);
  std::string_view bare = name;
  if (name.starts_with(own_prefix)) {
    bare.remove_prefix(own_prefix.size());
  } else {
    known.insert(known.end(), std::begin(names_of_others), std::end(names_of_others));
    known.insert(known.end(), std::begin(romio_names), std::end(romio_names));
  }
  std::string near(nearest_name(bare, known));
  if (find_hint(near) != nullptr) near.insert(0, own_prefix);
  return "hint " + std::string(name) + " is not known" +
         (near.empty() ? "" : "; did you mean " + near + "?") +
         " (docs/hints.md and docs/mpi-io.md list all)";
}

/// Names without "penstock_" are Penstock's own, unless another library has them.
InfoText from_environment() {
  const char* const text = std::getenv("PENSTOCK_HINTS");
  if (text == nullptr) return {};
  InfoText hints;
  try {
    for (const auto& [name, value] : split_hints(text)) {
      const bool whole = name.starts_with(own_prefix) || is_of_others(name);
      const std::string full = (whole ? "" : std::string(own_prefix)) + name;
      if (!is_own(full) && !is_of_others(full)) throw Error(ErrorClass::argument, advice_on(name));
      hints[full] = value;
    }
  } catch (const Error& error) {
    throw_mpi(MPI_ERR_INFO, std::string("PENSTOCK_HINTS: ") + error.what());
  }
  return hints;
}

/// Once per process.
bool is_first_time(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard guard(mutex);
  return seen.insert(name).second;
}

/// "ENABLE" is accepted as "enable", as in ROMIO.
std::string lower(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
  return text;
}

bool is_switch(const std::string& value) {
  return value == "enable" || value == "disable" || value == "automatic";
}

constexpr std::size_t index(Direction direction) {
  return direction == Direction::read ? 0 : 1;
}

}  // namespace

InfoText text_of_info(MPI_Info info) {
  InfoText text;
  if (info == MPI_INFO_NULL) return text;
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    int length = 0, found = 0;
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get_valuelen(info, key, &length, &found);
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    if (found) MPI_Info_get(info, key, length, value.data(), &found);
    value.resize(static_cast<std::size_t>(length));
    text[key] = value;
  }
  return text;
}

void MpiHints::set(const InfoText& info, int ranks) {
  for (const auto& [name, value] : info) set_one(name, value);
  hints_.aggregators = std::min<std::int64_t>(hints_.aggregators, ranks);
}

void MpiHints::set_from_environment(int ranks) {
  InfoText all = from_romio_file();
  for (const auto& [name, value] : from_environment()) all[name] = value;
  set(all, ranks);
}

/// Each process reads it, like the environment. What ROMIO silently ignores is reported.
InfoText MpiHints::from_romio_file() {
  const char* const path = std::getenv("ROMIO_HINTS");
  if (path == nullptr || *path == '\0') return {};
  const auto ignore = [&](const std::string& what) {
    const std::string words = std::string(path) + " (ROMIO_HINTS): " + what;
    if (is_first_time(words)) ignored_.push_back(words);
  };
  std::optional<std::string> text;
  if (const std::optional<Error> error = attempt([&] { text = read_metadata_file(path); }))
    ignore(error->what());
  else if (!text) ignore("there is no such file");
  InfoText hints;
  std::istringstream lines(text.value_or(""));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string name, value, more;
    if (!(words >> name) || name.front() == '#') continue;
    if (!(words >> value) || words >> more)
      ignore("line " + std::to_string(number) + " is not of the form: name value");
    else hints[name] = value;
  }
  return hints;
}

void MpiHints::set_own(const std::string& name, std::string_view own, const std::string& value) {
  try {
    hints_.set({{std::string(own), value}});
  } catch (const Error& error) {
    if (name.starts_with(own_prefix)) throw_mpi(MPI_ERR_INFO, "hint " + name + ": " + error.what());
  }
}

void MpiHints::set_one(const std::string& name, const std::string& value) {
  for (const auto& [theirs, ours] : synonyms)
    if (name == theirs) return set_own(name, ours, value);
  if (name == reported_name) return;
  if (is_own(name)) return set_own(name, name.substr(own_prefix.size()), value);
  if (!is_of_others(name) && is_first_time(name)) ignored_.push_back(advice_on(name));
  if (name == "collective_buffering" && (value == "true" || value == "false"))
    collective_[0] = collective_[1] = value == "true" ? "enable" : "disable";
  const std::string way = lower(value);
  if (name == no_independent_name && (way == "true" || way == "false"))
    no_independent_ = way == "true";
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (name == collective_names[i] && is_switch(way)) collective_[i] = way;
    else if (name == sieving_names[i] && is_switch(way)) sieving_[i] = way;
    else if (name == buffer_names[i])
      independent_buffer_[i] = std::max(0LL, std::strtoll(value.c_str(), nullptr, 10));
  }
  if (!std::ranges::count(collective_names, name) && !std::ranges::count(sieving_names, name) &&
      !std::ranges::count(buffer_names, name))
    others_[name] = value;
}

/// A program without independent calls wants collective ones to use a collective method.
const std::string& MpiHints::collective(Direction direction) const noexcept {
  static const std::string enabled = "enable";
  return no_independent_ ? enabled : collective_[index(direction)];
}

Hints MpiHints::of_call(Direction direction, Company company) const {
  Hints hints = hints_;
  const std::string& sieving = sieving_[index(direction)];
  if (direction == Direction::write && sieving != "automatic")
    hints.sieve_writes = sieving == "enable" ? SieveWrites::always : SieveWrites::never;
  if (company == Company::independent) {
    if (sieving != "automatic")
      hints.method = sieving == "enable" ? Method::sieved : Method::direct;
    if (independent_buffer_[index(direction)] > 0)
      hints.buffer_size = independent_buffer_[index(direction)];
    return hints;
  }
  const std::string& collective = this->collective(direction);
  if (collective == "enable") hints.method = Method::extended;
  if (collective == "disable") hints.method = sieving == "enable" ? Method::sieved : Method::direct;
  return hints;
}

InfoText MpiHints::in_effect(const Hints& effective, const std::vector<int>& aggregators) const {
  InfoText info = others_;
  for (const auto& [name, value] : effective.text()) info[std::string(own_prefix) + name] = value;
  std::string ranks;
  for (const int rank : aggregators) ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
  info[std::string(reported_name)] = ranks;
  info["cb_nodes"] = std::to_string(aggregators.size());
  info["cb_buffer_size"] = std::to_string(effective.buffer_size);
  info["striping_unit"] = std::to_string(effective.stripe_size);
  info[no_independent_name] = no_independent_ ? "true" : "false";
  for (const Direction direction : {Direction::read, Direction::write}) {
    const std::size_t i = index(direction);
    info[collective_names[i]] = collective(direction);
    info[sieving_names[i]] = sieving_[i];
    info[buffer_names[i]] = std::to_string(
        independent_buffer_[i] > 0 ? independent_buffer_[i] : effective.buffer_size.value());
  }
  return info;
}

}  // namespace penstock
