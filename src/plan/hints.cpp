#include <penstock/hints.hpp>

#include <algorithm>
#include <array>
#include <charconv>

#include <penstock/error.hpp>

namespace penstock {
namespace {

template <class Enum, std::size_t N>
using Names = std::array<std::pair<std::string_view, Enum>, N>;

constexpr Names<Method, 6> method_names{{{"auto", Method::automatic},
                                         {"direct", Method::direct},
                                         {"sieved", Method::sieved},
                                         {"gather", Method::gather},
                                         {"two-phase", Method::two_phase},
                                         {"extended", Method::extended}}};
constexpr Names<DomainRule, 5> rule_names{{{"auto", DomainRule::automatic},
                                           {"static", DomainRule::static_},
                                           {"dynamic", DomainRule::dynamic},
                                           {"block-cyclic", DomainRule::block_cyclic},
                                           {"aligned", DomainRule::aligned}}};
constexpr Names<Exchange, 9> exchange_names{{{"auto", Exchange::automatic},
                                             {"step1", Exchange::step1},
                                             {"step2", Exchange::step2},
                                             {"step3", Exchange::step3},
                                             {"step4", Exchange::step4},
                                             {"step5", Exchange::step5},
                                             {"sparse", Exchange::sparse},
                                             {"alltoallw", Exchange::alltoallw},
                                             {"node", Exchange::node}}};
constexpr Names<SieveWrites, 3> sieve_names{{{"auto", SieveWrites::automatic},
                                             {"always", SieveWrites::always},
                                             {"never", SieveWrites::never}}};
constexpr Names<Pipeline, 3> pipeline_names{
    {{"auto", Pipeline::automatic}, {"always", Pipeline::always}, {"never", Pipeline::never}}};
constexpr Names<StorageKind, 5> storage_names{{{"auto", StorageKind::automatic},
                                               {"posix", StorageKind::posix},
                                               {"direct", StorageKind::direct},
                                               {"uring", StorageKind::uring},
                                               {"uring-direct", StorageKind::uring_direct}}};
constexpr Names<IoPolicy, 4> policy_names{{{"auto", IoPolicy::automatic},
                                           {"other", IoPolicy::other},
                                           {"batch", IoPolicy::batch},
                                           {"idle", IoPolicy::idle}}};
constexpr Names<Locks, 2> lock_names{{{"auto", Locks::automatic}, {"never", Locks::never}}};

template <class Enum, std::size_t N>
Enum parse(std::string_view hint, std::string_view value, const Names<Enum, N>& names) {
  std::string known;
  for (const auto& [name, result] : names) {
    if (name == value) return result;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw Error(ErrorClass::argument,
              std::string(hint) + " '" + std::string(value) + "' is not known; known are " + known);
}

template <class Enum, std::size_t N>
std::string_view name_of(Enum value, const Names<Enum, N>& names) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& entry) { return entry.second == value; });
  return found == names.end() ? "?" : found->first;
}

std::int64_t parse_count(std::string_view hint, std::string_view value) {
  if (value == "auto") return 0;
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (status != std::errc() || end != value.data() + value.size() || number < 1)
    throw Error(ErrorClass::argument, std::string(hint) +
                                          " must be a number of at least 1, or auto; not '" +
                                          std::string(value) + "'");
  return number;
}

std::int64_t parse_number(std::string_view hint, std::string_view value, std::string_view what,
                          std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (status != std::errc() || end != value.data() + value.size() || number < 0 || number > most)
    throw Error(ErrorClass::argument, std::string(hint) + " must be " + std::string(what) +
                                          " from 0 to " + std::to_string(most) + ", not '" +
                                          std::string(value) + "'");
  return number;
}

std::int64_t parse_core(std::string_view hint, std::string_view value) {
  return value == "auto" ? -1 : parse_number(hint, value, "auto or a core", 1023);
}

std::int64_t parse_depth(std::string_view hint, std::string_view value) {
  const std::int64_t number = value == "auto" ? 8 : parse_count(hint, value);
  if (number > 1024)
    throw Error(ErrorClass::argument,
                std::string(hint) + " must be from 1 to 1024, not " + std::string(value));
  return number;
}

std::string count_text(std::int64_t count) {
  return count == 0 ? "auto" : std::to_string(count);
}

}  // namespace

bool must_be_common(std::string_view hint) noexcept {
  return hint == "io_depth" || (hint != "device" && !hint.starts_with("io_"));
}

std::string_view to_string(Method method) noexcept {
  return name_of(method, method_names);
}
std::string_view to_string(DomainRule rule) noexcept {
  return name_of(rule, rule_names);
}
std::string_view to_string(Exchange exchange) noexcept {
  return name_of(exchange, exchange_names);
}

void Hints::set(const std::map<std::string, std::string>& text, std::vector<std::string>* unknown) {
  const auto bytes_of = [](const std::string& hint, const std::string& value) {
    try {
      return parse_bytes(value);
    } catch (const Error& error) {
      throw Error(ErrorClass::argument, hint + ": " + error.what());
    }
  };
  // 0 means that the size is to be chosen; nobody who writes 0 means that.
  const auto buffer_bytes = [&](const std::string& value) {
    const std::int64_t bytes = bytes_of("buffer_size", value);
    if (bytes == 0)
      throw Error(ErrorClass::argument,
                  "buffer_size must hold at least one element, not 0 bytes; auto has it chosen");
    return bytes;
  };
  for (const auto& [name, value] : text) {
    if (name == "method") method = parse(name, value, method_names);
    else if (name == "domains") domains = parse("domain rule", value, rule_names);
    else if (name == "aggregators") aggregators = parse_count(name, value);
    else if (name == "buffer_size") buffer_size = value == "auto" ? 0 : buffer_bytes(value);
    else if (name == "stripe_size") stripe_size = bytes_of(name, value);
    else if (name == "sieve_writes") sieve_writes = parse(name, value, sieve_names);
    else if (name == "locks") locks = parse(name, value, lock_names);
    else if (name == "exchange") exchange = parse(name, value, exchange_names);
    else if (name == "pipeline") pipeline = parse(name, value, pipeline_names);
    else if (name == "storage") storage = parse(name, value, storage_names);
    else if (name == "io_depth") io_depth = parse_depth(name, value);
    else if (name == "ranks_per_node") ranks_per_node = parse_count(name, value);
    else if (name == "writers") writers = parse_count(name, value);
    else if (name == "stagger") stagger = parse_number(name, value, "microseconds", 60'000'000);
    else if (name == "active_buffer_size") active_buffer_size = bytes_of(name, value);
    else if (name == "io_policy") io_policy = parse(name, value, policy_names);
    else if (name == "io_nice") io_nice = parse_number(name, value, "a number", 19);
    else if (name == "io_core") io_core = parse_core(name, value);
    else if (name == "device") device = value;
    else if (unknown != nullptr) unknown->push_back(name);
  }
}

std::map<std::string, std::string> Hints::text() const {
  return {{"method", std::string(to_string(method))},
          {"domains", std::string(to_string(domains))},
          {"aggregators", count_text(aggregators)},
          {"buffer_size", count_text(buffer_size)},
          {"stripe_size", std::to_string(stripe_size)},
          {"sieve_writes", std::string(name_of(sieve_writes, sieve_names))},
          {"locks", std::string(name_of(locks, lock_names))},
          {"exchange", std::string(to_string(exchange))},
          {"pipeline", std::string(name_of(pipeline, pipeline_names))},
          {"storage", std::string(name_of(storage, storage_names))},
          {"io_depth", std::to_string(io_depth)},
          {"ranks_per_node", count_text(ranks_per_node)},
          {"writers", count_text(writers)},
          {"stagger", std::to_string(stagger)},
          {"active_buffer_size", std::to_string(active_buffer_size)},
          {"io_policy", std::string(name_of(io_policy, policy_names))},
          {"io_nice", std::to_string(io_nice)},
          {"io_core", io_core < 0 ? "auto" : std::to_string(io_core)},
          {"device", device}};
}

}  // namespace penstock
