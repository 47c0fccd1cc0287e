// Contents: what somebody who opens a file means its bytes to be. A container (src/container) says
// so while the file is opened; from then on the file has bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpi/agree.hpp"
#include "pattern/units.hpp"
#include "storage/storage.hpp"

namespace penstock {

class Contents {
 public:
  virtual ~Contents() = default;

  /// What all ranks must pass alike.
  virtual std::vector<Common> common() const { return {}; }
  /// On every rank, before the file is opened. Throws for what no file takes.
  virtual void check(const Communicator&) {}
  /// Whether open_storage() makes the storage: the bytes are not those of one file of the system.
  virtual bool has_own_storage() const { return false; }
  /// On rank 0 first, which makes the file where the flag says so but changes nothing of an old
  /// one; on the others once it has told them what it found. Null: the path is a file.
  virtual std::unique_ptr<Storage> open_storage(OpenFlag) { return nullptr; }
  /// On rank 0, which has opened the file: what is in it. Changes nothing.
  virtual void find(Storage&) {}
  /// What rank 0 has found, for the others: words that need no interpretation but be_told()'s.
  virtual std::string told() const { return {}; }
  virtual void be_told(std::string_view) {}
  /// Whether the file has to be changed before it holds what it should: the same on every rank once
  /// rank 0 has told.
  virtual bool changes() const { return false; }
  /// On rank 0, where it has to be. Where it throws, the file is as it was.
  virtual void change(Storage&) {}
  /// What its bytes belong together in.
  virtual FileUnits units() const { return {}; }

  /// Of a file that replaces another, on rank 0. Its data is on the device, and it takes the place
  /// of the old file next: what lies beside it must be ready by then. Where this throws, or nothing
  /// takes that place, forget_replacing() comes next.
  virtual void before_replacing(const std::string& /*new_path*/) {}
  /// It has taken that place.
  virtual void after_replacing() {}
  /// A file of that inode, perhaps of a process that was killed, replaces nothing.
  virtual void forget_replacing(std::uint64_t /*inode*/) noexcept {}
};

/// What a file says of what it holds, where that changes while it is open.
class Seal {
 public:
  virtual ~Seal() = default;

  /// Whether no rank holds anything back that was written: the same on every rank.
  virtual bool is_settled() const { return true; }
  /// Collective, in a channel in which the ranks have met, once all that is buffered is written.
  /// Throws the same on every rank.
  virtual void settle(const Channel&) {}

  /// Whether what was written is lost unless seal() comes.
  virtual bool is_needed() const { return false; }
  /// Whether the file says all: the same on every rank.
  virtual bool is_sealed() const = 0;
  /// On rank 0, once all that was written is in the file: brings up to date what it says.
  virtual void seal(Storage&) = 0;
  /// On every rank, when rank 0 has done that.
  virtual void mark_sealed() = 0;
};

}  // namespace penstock
