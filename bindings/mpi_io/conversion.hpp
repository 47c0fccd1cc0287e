// Data representations (MPI 4.1, section 14.5): the format of elements in a file.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mpi_io/datatype.hpp"

namespace penstock {

/// The bytes of one access in the file's representation, converted from or to the program's buffer.
class Conversion {
 public:
  virtual ~Conversion() = default;
  /// For a read, once `bytes` of them have arrived. Returns the number of bytes in the program's
  /// buffer.
  virtual std::int64_t take(std::int64_t bytes) = 0;
  std::byte* data() noexcept { return bytes_.data(); }
  std::int64_t size() const noexcept { return static_cast<std::int64_t>(bytes_.size()); }

 protected:
  std::vector<std::byte> bytes_;
};

/// A conversion function of a program (MPI_Datarep_conversion_function, with counts of either
/// width): its buffer, type and count, and the bytes of the file. Empty: no conversion.
using ConversionFunction = std::function<int(void*, MPI_Datatype, std::int64_t, void*)>;

class DataRepresentation {
 public:
  virtual ~DataRepresentation() = default;
  /// Throws an Error of class MPI_ERR_UNSUPPORTED_DATAREP if the name is unknown.
  static std::shared_ptr<const DataRepresentation> of(const std::string& name);
  /// MPI_Register_datarep. Throws an Error of class MPI_ERR_DUP_DATAREP if the name exists.
  static void add(const std::string& name, ConversionFunction read, ConversionFunction write,
                  MPI_Datarep_extent_function* extent, void* extra);

  const std::string& name() const noexcept { return name_; }
  /// False: bytes in the file are those in memory.
  virtual bool converts() const noexcept { return false; }
  /// For a type in the file.
  virtual std::shared_ptr<const TypeLayout> layout_in_file(MPI_Datatype type) const {
    return layout_of(type);
  }
  /// Bytes that `count` elements of the type take in the file.
  virtual std::int64_t bytes_in_file(MPI_Datatype type, std::int64_t count) const;
  /// For a write, the result has the converted bytes. Null: no conversion.
  virtual std::unique_ptr<Conversion> convert(bool /*writes*/, void* /*buffer*/,
                                              std::int64_t /*count*/, MPI_Datatype) const {
    return nullptr;
  }

 protected:
  explicit DataRepresentation(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

}  // namespace penstock
