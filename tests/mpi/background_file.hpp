// A file of background_model: its expected content, how it is open, and what is in flight.
#pragma once

#include <memory>

#include "model_request.hpp"

/// A read or write in flight, as referenced by a handle.
struct Begun {
  std::shared_ptr<ps::ArrayFile::Impl> file;
  std::shared_ptr<ps::InFlight::Begun> operation;

  bool copied(bool wait = true) { return file->bytes().is_copied(*operation, wait); }
  bool test() { return file->bytes().is_ready(*operation); }
  void wait() { file->bytes().end(*operation); }
};

struct Pending {
  Begun begun;
  std::size_t used;
  bool reads,
      exchanges_later;  // a read whose exchange is in its end, or one that a thread carries out
  std::shared_ptr<Memories> memories;
  std::vector<Bytes> expected;  // of a read: all bytes of the memories
  std::int64_t call;
};

struct BackgroundFile {
  std::string path;
  ModelArray array;  // two dimensions
  std::int64_t offset;
  Bytes model;
  ps::StorageKind storage;
  std::int64_t ranks_per_node;
  std::string device;
  std::vector<std::shared_ptr<ps::ArrayFile::Impl>> opened;  // of the same ranks
  std::size_t used = 0;                                      // the last one used
  std::vector<Pending> pending;
  std::vector<std::shared_ptr<Memories>> kept;  // of dropped handles

  std::int64_t end() const { return offset + array.bytes(); }
  /// Content before the first write; `writes`: also written to the file.
  void fill(bool writes);
  void open(MPI_Comm comm);
  void forget();
  /// Copies the file's settings to those of a call.
  void set(ps::Hints& hints) const;

  /// A rank's write: in the model, and in the memories, if given.
  void put(int rank, std::int64_t call, const ModelRequest& request, Memories* memories);
  /// The expected content of the memories after a read.
  std::vector<Bytes> expected(const ModelRequest& request, const Memories& memories) const;
  void compare(const Bytes& got, const Bytes& expected, const std::string& what) const;
  void compare(const Memories& got, const std::vector<Bytes>& expected,
               const std::string& what) const;
  /// Checks the file itself. Collective; nothing may be in flight on any rank.
  void check(MPI_Comm comm) const;
};

/// A section for each rank, or none. `apart`: disjoint.
Requests random_sections(Random& r, const ModelArray& array, int ranks, bool apart);
/// Nested patterns for each rank, or none. `apart`: disjoint.
Requests random_patterns(Random& r, const ModelArray& array, int ranks, bool apart);
