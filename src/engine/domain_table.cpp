#include "engine/domain_table.hpp"

#include <algorithm>
#include <limits>

namespace penstock {

DomainTable::DomainTable(const ArrayLayout& layout, const Plan& plan, std::int64_t aggregator)
    : layout_(layout),
      plan_(plan),
      aggregator_(aggregator),
      rounds_(aggregator < 0 ? 0 : plan.domains.rounds(aggregator)) {}

void DomainTable::add(int rank, std::vector<Section> sections) {
  Source source{rank, std::move(sections), {}, 0};
  source.footprint = Footprint(layout_, source.sections);
  source.round = next_round(plan_.domains, aggregator_, source.footprint, 0);
  if (source.round < rounds_) sources_.push_back(std::move(source));
}

void DomainTable::settle() {
  std::vector<const Section*> sections;
  for (const Source& source : sources_)
    for (const Section& section : source.sections) sections.push_back(&section);
  disjoint_ = all_disjoint(sections);
  find_round();
}

void DomainTable::find_round() {
  round_ = std::numeric_limits<std::int64_t>::max();
  for (const Source& source : sources_) round_ = std::min(round_, source.round);
}

Extent DomainTable::take(std::vector<WindowStream>& streams) {
  const Extent extent = plan_.domains.window(aggregator_, round_);
  Extent trimmed{extent.end, extent.begin};
  streams.assign(sources_.size(), WindowStream());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    Source& source = sources_[i];
    if (source.round != round_) continue;
    streams[i] = WindowStream(source.footprint, extent);
    trimmed.begin = std::min(trimmed.begin, source.footprint.next(extent.begin));
    trimmed.end = std::max(trimmed.end, source.footprint.previous_end(extent.end));
    source.round = next_round(plan_.domains, aggregator_, source.footprint, round_ + 1);
  }
  find_round();
  return trimmed;
}

void DomainTable::open(Window& window, std::byte* place) {
  window.round = round_;
  window.extent = plan_.domains.window(aggregator_, round_);
  const Extent trimmed = take(window.streams);
  if (place != nullptr) place += lead(window.extent.begin, plan_.domains.buffer());
  window.io.open(window.extent, window.streams, trimmed, disjoint_, place);
}

namespace {
/// Windows smaller than this are at the storage sooner than a thread is awake.
constexpr std::int64_t worth_a_thread = 256 * 1024;
}  // namespace

WindowQueue::WindowQueue(Context& context, const Plan& plan, const Hints& hints,
                         Direction direction, bool background)
    : context_(context),
      hints_(hints),
      aggregator_(plan.aggregator_of(context.comm.rank())),
      writers_(plan.writers),
      reads_(direction == Direction::read),
      background_(background && (hints.pipeline == Pipeline::always ||
                                 (hints.pipeline == Pipeline::automatic && plan.depth > 1 &&
                                  plan.domains.buffer() >= worth_a_thread))) {
  for (int i = 0; i < plan.depth; ++i)
    windows_.push_back(std::make_unique<Window>(context, hints, direction));
}

Window& WindowQueue::next() {
  Window& window = *windows_[turn_];
  turn_ = (turn_ + 1) % windows_.size();
  finish(window);
  window.round = -1;
  return window;
}

void WindowQueue::start(Window& window, bool fill) {
  if (error_) return;
  const auto work = [this, &window, fill] {
    if (failed_) return;
    window.error = attempt([&] {
      if (!fill) stagger();
      const Permit permit(context_, background_ ? writers_ : 0);
      fill ? window.io.fill() : window.io.flush();
    });
    if (window.error) failed_ = true;
  };
  if (background_) window.ticket = context_.worker.submit(work);
  else work();
}

/// Dickens & Thakur, section 4.1.1: with many writers, small delays that keep them apart raised
/// the bandwidth of one file system by half.
void WindowQueue::stagger() {
  if (staggered_ || hints_.stagger == 0) return;
  staggered_ = true;
  std::this_thread::sleep_for(std::chrono::microseconds(hints_.stagger * aggregator_));
}

void WindowQueue::finish(Window& window) {
  if (window.ticket != 0) {
    const Stopwatch watch(context_.counts.time_wait);
    context_.worker.wait(window.ticket);
    window.ticket = 0;
  }
  if (window.error && !error_) error_ = window.error;
  window.error.reset();
  if (error_ && reads_ && window.round >= 0) window.io.clear();
}

void WindowQueue::finish_all() {
  for (const auto& window : windows_) finish(*window);
}

}  // namespace penstock
