// ArrayFile::Impl: an array in an open file. array_calls.cpp brings what the program asks for into
// bytes; array_file.cpp forwards the public interface to it.
#pragma once

#include <penstock/array_file.hpp>

#include "array/lower.hpp"
#include "container/array_contents.hpp"
#include "file/byte_file.hpp"

namespace penstock {

class ArrayFile::Impl {
 public:
  /// `background`: of the process.
  Impl(BackgroundIo& background, Communicator comm, const std::filesystem::path& path, Mode mode,
       const ArraySpec& spec, const Hints& hints);

  /// `found`: what a binding has found wrong with the request.
  template <class View>
  void transfer(std::span<const Part<View>> parts, const Hints* call_hints, Direction direction,
                const Error* found = nullptr);
  template <class View>
  std::shared_ptr<ByteFile::Begun> begin(std::span<const Part<View>> parts, const Hints* call_hints,
                                         Direction direction, Background background,
                                         const Error* found = nullptr);
  void truncate(std::int64_t bytes, const Error* found = nullptr);

  /// What is no matter of arrays.
  ByteFile& bytes() noexcept { return file_; }
  const ByteFile& bytes() const noexcept { return file_; }
  const ArraySpec& spec() const { return contents_.described().spec; }
  std::int64_t data_offset() const { return contents_.described().data_offset; }
  std::int64_t end_offset() const { return layout_.extent().end; }
  std::vector<int> aggregator_ranks() const;
  Method last_method() const { return last_method_; }

 private:
  template <class View>
  Request request(std::span<const Part<View>> parts, const Hints* call_hints, Direction direction,
                  const Error* found) const;
  void refuse_settings_of_the_file(const Hints& call) const;
  template <class View>
  std::optional<Lowered> lower_part(const Part<View>& part, std::size_t index,
                                    std::size_t count) const;
  template <class View>
  std::vector<std::int64_t> strides_of(const Part<View>& part) const;

  ArrayContents contents_;
  ByteFile file_;
  ArrayLayout layout_;
  Method last_method_ = Method::automatic;
};

}  // namespace penstock
