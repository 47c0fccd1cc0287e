// ArrayFile::Impl: an array in an open file. array_file.cpp forwards the public interface to it.
#pragma once

#include <penstock/array_file.hpp>

#include "formats/array_contents.hpp"
#include "formats/dataset.hpp"

namespace penstock {

OpenFlag open_flag_of(Mode mode) noexcept;
/// The ranks that access the file in collective calls on all of `units`.
std::vector<int> aggregator_ranks(const ByteFile& file, const FileUnits& units);

class ArrayFile::Impl {
 public:
  /// `background`: the process's.
  Impl(BackgroundIo& background, Communicator comm, const std::filesystem::path& path, Mode mode,
       const ArraySpec& spec, const Hints& hints);

  DatasetCalls& calls() noexcept { return calls_; }
  const DatasetCalls& calls() const noexcept { return calls_; }
  template <class View>
  void transfer(Direction direction, const ArrayCall<View>& call);
  template <class View>
  std::shared_ptr<ByteFile::Begun> begin(Direction direction, std::optional<Background> background,
                                         const ArrayCall<View>& call);
  /// The file without its array.
  ByteFile& bytes() noexcept { return file_; }
  const ByteFile& bytes() const noexcept { return file_; }
  const ArraySpec& spec() const { return contents_->described().spec; }
  std::int64_t data_offset() const { return contents_->described().data_offset; }
  std::int64_t end_offset() const { return contents_->units().all.end; }
  FileUnits units() const { return contents_->units(); }
  void append(const ArrayCall<WriteView>& call);
  template <class View>
  void transfer_placed(Direction direction, ArrayCall<View> call);
  std::string attributes();
  /// `found`: an error found by the caller.
  void set_attributes(const std::string& json, const Error* found);

 private:
  /// Brings what earlier calls have kept back into the file.
  void settle_before(CallKind kind);
  /// For an array that grows.
  void use_units(const FileUnits& units);
  void check_places(std::span<const ArrayPlace> places, std::size_t parts) const;

  std::unique_ptr<ArrayContents> contents_;
  ByteFile file_;
  std::unique_ptr<Dataset> dataset_;
  DatasetCalls calls_;
};

}  // namespace penstock
