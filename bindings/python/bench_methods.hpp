// The methods measured by `penstock bench steps` and `peers`: the contiguous baseline, the engine,
// the MPI library's own MPI-IO.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <penstock/penstock.hpp>

#include "bench_types.hpp"

namespace penstock::python {

/// One way to write and read this rank's part of a file. All calls are collective.
class BenchMethod {
 public:
  virtual ~BenchMethod() = default;
  virtual void open(const std::string& path, bool create) = 0;
  virtual void write() = 0;
  virtual void read() = 0;
  virtual void await_background() {}  ///< ends the method's background work
  virtual void close() = 0;
  virtual Statistics last_call() const { return {}; }
  virtual std::string carried_out_by() const { return {}; }
};

/// The contiguous baseline: every rank moves one contiguous slab, on a plain descriptor of its own,
/// without any coordination.
class ContiguousBaseline final : public BenchMethod {
 public:
  ContiguousBaseline(std::byte* memory, std::size_t bytes, std::int64_t offset, bool direct)
      : memory_(memory), bytes_(bytes), offset_(offset), direct_(direct) {}
  ~ContiguousBaseline() override { close(); }
  void open(const std::string& path, bool create) override;
  void write() override;
  void read() override;
  void close() override;

 private:
  template <class Call>
  void move_all(const char* name, Call call);

  std::byte* memory_;
  std::size_t bytes_;
  std::int64_t offset_;
  bool direct_;
  int descriptor_ = -1;
};

/// Penstock, used like in a C++ program.
class Engine final : public BenchMethod {
 public:
  struct SectionAndMemory {
    ArraySpec spec;
    Hints hints;
    std::optional<Section> section;  ///< none: this rank has no elements
    WriteView source;
    ReadView target;
  };
  Engine(MPI_Comm comm, SectionAndMemory wanted) : comm_(comm), wanted_(std::move(wanted)) {}
  void open(const std::string& path, bool create) override;
  void write() override;
  void read() override;
  void await_background() override;
  void close() override;
  Statistics last_call() const override { return last_call_; }
  std::string carried_out_by() const override { return carried_out_by_; }

 private:
  void remember();

  MPI_Comm comm_;
  SectionAndMemory wanted_;
  std::optional<ArrayFile> file_;
  Statistics last_call_;
  std::string carried_out_by_;
};

/// MPI_File_write_at_all and read_at_all through a view, with the library's default hints. Setting
/// the view is part of opening, as in a program that writes step after step.
class MpiIo final : public BenchMethod {
 public:
  struct TypesAndMemory {
    MPI_Datatype element;
    std::optional<FileType> file;    ///< none: this rank has no elements
    std::optional<Datatype> memory;  ///< none if file is none
    const void* source;
    void* target;
  };
  MpiIo(MPI_Comm comm, TypesAndMemory wanted) : comm_(comm), wanted_(std::move(wanted)) {}
  void open(const std::string& path, bool create) override;
  void write() override;
  void read() override;
  void close() override;

 private:
  int count() const noexcept { return wanted_.memory ? 1 : 0; }
  MPI_Datatype memory_type() const noexcept {
    return wanted_.memory ? wanted_.memory->get() : wanted_.element;
  }

  MPI_Comm comm_;
  TypesAndMemory wanted_;
  MPI_File file_ = MPI_FILE_NULL;
};

}  // namespace penstock::python
