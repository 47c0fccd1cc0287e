// ArrayFile::Impl: an open file. Its parts: opening.cpp makes one, calls.cpp is what can be done
// with it; array_file.cpp forwards the public interface to it.
#pragma once

#include <penstock/array_file.hpp>

#include "array/lower.hpp"
#include "file/device.hpp"
#include "file/header.hpp"
#include "file/in_flight.hpp"

namespace penstock {

[[noreturn]] void throw_errno(const std::string& what, const std::string& path, std::int64_t code);

class ArrayFile::Impl {
 public:
  /// `background`: of the process.
  Impl(BackgroundIo& background, Communicator comm, const std::filesystem::path& path, Mode mode,
       const ArraySpec& spec, const Hints& hints);
  Impl(const Impl&) = delete;
  /// Not collective: it runs during one rank's exception too, when nobody else is here.
  ~Impl() { abandon(); }

  /// `found`: what a binding has found wrong with the request.
  template <class View>
  void transfer(std::span<const Part<View>> parts, const Hints* call_hints, Direction direction,
                const Error* found = nullptr);
  template <class View>
  std::shared_ptr<InFlight::Begun> begin(std::span<const Part<View>> parts, const Hints* call_hints,
                                         Direction direction, Background background,
                                         const Error* found = nullptr);
  /// The same for a request in bytes. `early`: what is wrong with it.
  void transfer(Access access, std::optional<Error> early, const Hints* call_hints);
  std::shared_ptr<InFlight::Begun> begin(Access access, std::optional<Error> early,
                                         const Hints* call_hints, Background background);
  /// Takes part in whatever begins on the other ranks with an error.
  [[noreturn]] void refuse_begin(const Error& error);
  void end(InFlight::Begun& begun);
  bool is_copied(InFlight::Begun& begun, bool wait) {
    return !storage_ || in_flight_->is_copied(begun, wait);
  }
  bool is_ready(InFlight::Begun& begun) { return !storage_ || in_flight_->is_ready(begun); }

  void sync();
  std::int64_t file_size();
  /// `found`: what a binding has found wrong with the size.
  void truncate(std::int64_t bytes, const Error* found = nullptr);

  /// The first half of close: from here on the file counts as closed.
  void begin_close() {
    in_flight_->end_reads();
    closing_ = true;
  }
  bool is_closing_done() { return !storage_ || buffered_->pending().empty(); }
  void finish_close();
  void close();
  /// The file of one rank, when the others cannot be expected to take part. Nobody is left to throw
  /// an error to.
  void abandon() noexcept;

  bool is_open() const { return storage_ != nullptr && !closing_; }
  const ArraySpec& spec() const { return described_.spec; }
  std::int64_t end_offset() const { return described_.data_offset + layout_.byte_count(); }
  std::int64_t data_offset() const { return described_.data_offset; }
  const Hints& hints() const { return hints_; }
  const FileSystemFacts& file_system() const { return facts_; }
  std::string device() const { return describe_device(hints_, facts_); }
  std::vector<int> aggregator_ranks() const;
  Statistics statistics() const;
  const Statistics& last_call() const { return last_; }
  Method last_method() const { return last_method_; }

 private:
  void check(const ArraySpec& spec);
  void check_alone() const;
  void agree_to_open(const ArraySpec& spec);
  void open_storage(OpenFlag flag);
  void open_on_first(const Channel& channel, const ArraySpec& spec);
  void open_on_others(const Channel& channel);
  void find_buffered();
  void change_file(const Channel& channel);
  void complete();
  Machine machine() const;

  template <class View>
  std::optional<Error> fill_in(Access& access, std::span<const Part<View>> parts,
                               const Hints* call_hints, Direction direction, const Error* found);
  void refuse_settings_of_the_file(const Hints& call) const;
  template <class View>
  std::optional<Lowered> lower_part(const Part<View>& part, std::size_t index,
                                    std::size_t count) const;
  template <class View>
  std::vector<std::int64_t> strides_of(const Part<View>& part) const;
  void drain();
  Channel next_channel(CallKind kind);
  void meet(const Channel& channel, const std::vector<Common>& common = {},
            const std::optional<Error>& error = std::nullopt);
  void require_open() const {
    if (!is_open()) throw Error(ErrorClass::state, "'" + path_ + "' is closed");
  }
  void account(InFlight::Begun& begun, const StorageCounts& before);
  void let_go() noexcept;

  BackgroundIo& background_;
  Communicator comm_;
  std::string path_;
  Mode mode_;
  Hints hints_;
  Device device_;
  std::shared_ptr<PaceClock> clock_;
  StorageCounts storage_counts_, background_counts_;  // outlive storage_, which counts into them
  StorageCounts opening_counts_;                      // of what is not the program's doing
  std::shared_ptr<BufferedFile> buffered_;
  std::shared_ptr<CacheSpeed> cache_speed_;
  bool closing_ = false;
  std::unique_ptr<Storage> storage_;
  FileSystemFacts facts_;
  Costs costs_;
  Described described_;
  ArrayLayout layout_;
  std::optional<OpenFile> file_;
  std::optional<InFlight> in_flight_;
  Statistics total_, last_;
  Method last_method_ = Method::automatic;
};

}  // namespace penstock
