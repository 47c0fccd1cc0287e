#include "mpi_io/mpi_hints.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "mpi_io/mpi_error.hpp"

namespace penstock {
namespace {

constexpr std::string_view own_prefix = "penstock_";

/// Names of others for hints that Penstock has.
constexpr std::pair<std::string_view, std::string_view> synonyms[] = {
    {"cb_nodes", "aggregators"},
    {"cb_buffer_size", "buffer_size"},
    {"striping_unit", "stripe_size"},
};

/// Of reads, and of writes.
constexpr const char* collective_names[] = {"romio_cb_read", "romio_cb_write"};
constexpr const char* sieving_names[] = {"romio_ds_read", "romio_ds_write"};
constexpr const char* buffer_names[] = {"ind_rd_buffer_size", "ind_wr_buffer_size"};

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

InfoText from_environment() {
  InfoText hints;
  const char* const text = std::getenv("PENSTOCK_HINTS");
  if (text == nullptr) return hints;
  std::string_view left = text;
  while (!left.empty()) {
    const std::string_view one = left.substr(0, left.find(';'));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    if (trimmed(one).empty()) continue;
    const std::size_t equals = one.find('=');
    const std::string name(trimmed(one.substr(0, equals)));
    if (equals == std::string_view::npos || name.empty())
      throw_mpi(MPI_ERR_INFO, "PENSTOCK_HINTS has '" + std::string(one) +
                                  "'; expected is name=value, separated by semicolons");
    const bool own = !name.starts_with("romio_") && !name.starts_with("cb_") &&
                     !name.starts_with(own_prefix) && !name.starts_with("ind_") &&
                     !name.starts_with("striping_");
    hints[(own ? std::string(own_prefix) : "") + name] = trimmed(one.substr(equals + 1));
  }
  return hints;
}

/// Once in a process.
bool is_first_time(const std::string& name) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard guard(mutex);
  return seen.insert(name).second;
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
  InfoText all = from_environment();
  for (const auto& [name, value] : info) all[name] = value;
  for (const auto& [name, value] : all) set_one(name, value);
  hints_.aggregators = std::min<std::int64_t>(hints_.aggregators, ranks);
}

void MpiHints::set_own(const std::string& name, std::string_view own, const std::string& value) {
  std::vector<std::string> unknown;
  try {
    hints_.set({{std::string(own), value}}, &unknown);
  } catch (const Error& error) {
    if (name.starts_with(own_prefix)) throw_mpi(MPI_ERR_INFO, "hint " + name + ": " + error.what());
    return;
  }
  if (own == "active_buffer_size") buffer_is_asked_for_ = true;
  if (!unknown.empty() && is_first_time(name)) unknown_.push_back(name);
}

void MpiHints::set_one(const std::string& name, const std::string& value) {
  for (const auto& [theirs, ours] : synonyms)
    if (name == theirs) return set_own(name, ours, value);
  if (name == "penstock_aggregator_ranks") return;  // only told
  if (name.starts_with(own_prefix)) return set_own(name, name.substr(own_prefix.size()), value);
  if (name == "collective_buffering" && (value == "true" || value == "false"))
    collective_[0] = collective_[1] = value == "true" ? "enable" : "disable";
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (name == collective_names[i] && is_switch(value)) collective_[i] = value;
    else if (name == sieving_names[i] && is_switch(value)) sieving_[i] = value;
    else if (name == buffer_names[i])
      independent_buffer_[i] = std::max(0LL, std::strtoll(value.c_str(), nullptr, 10));
  }
  if (!std::ranges::count(collective_names, name) && !std::ranges::count(sieving_names, name) &&
      !std::ranges::count(buffer_names, name))
    others_[name] = value;
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
  const std::string& collective = collective_[index(direction)];
  if (collective == "enable") hints.method = Method::extended;
  if (collective == "disable") hints.method = sieving == "enable" ? Method::sieved : Method::direct;
  return hints;
}

InfoText MpiHints::told(const Hints& effective, const std::vector<int>& aggregators) const {
  InfoText told = others_;
  for (const auto& [name, value] : effective.text()) told[std::string(own_prefix) + name] = value;
  std::string ranks;
  for (const int rank : aggregators) ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
  told["penstock_aggregator_ranks"] = ranks;
  told["cb_nodes"] = std::to_string(aggregators.size());
  told["cb_buffer_size"] = std::to_string(effective.buffer_size);
  told["striping_unit"] = std::to_string(effective.stripe_size);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    told[collective_names[i]] = collective_[i];
    told[sieving_names[i]] = sieving_[i];
    told[buffer_names[i]] =
        std::to_string(independent_buffer_[i] > 0 ? independent_buffer_[i] : effective.buffer_size);
  }
  return told;
}

}  // namespace penstock
