// Contents: what the opener of a file expects in it. A format passes this when it opens the file;
// after that, the file has only bytes.
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
  /// On every rank, before the file is opened. Throws for values that no file can have.
  virtual void check(const Communicator&) {}
  /// Whether open_storage() makes the storage, because the bytes are not those of a single file.
  virtual bool has_own_storage() const { return false; }
  /// On rank 0 first, which creates the file if the flag says so but changes nothing of an old one;
  /// on the others after they have received what it found. Null: the path is a file.
  virtual std::unique_ptr<Storage> open_storage(OpenFlag) { return nullptr; }
  /// On rank 0, which has opened the file: examines its content. Changes nothing.
  virtual void find(Storage&) {}
  /// What rank 0 has found, encoded for set_findings() on the other ranks.
  virtual std::string findings() const { return {}; }
  virtual void set_findings(std::string_view) {}
  /// Whether the file has to be changed to hold what it should: the same on every rank after rank
  /// 0's announcement.
  virtual bool changes() const { return false; }
  /// On rank 0, if needed. If it throws, the file is unchanged.
  virtual void change(Storage&) {}
  /// How its bytes are grouped.
  virtual FileUnits units() const { return {}; }

  /// On rank 0, for a file that replaces another: its data is on the device, and it takes the old
  /// file's place next, so accompanying files must be ready by then. If this throws, or the
  /// replacement fails, forget_replacing() follows.
  virtual void before_replacing(const std::string& /*new_path*/) {}
  /// The replacement is done.
  virtual void after_replacing() {}
  /// A file of that inode, perhaps of a process that was killed, will replace nothing.
  virtual void forget_replacing(std::uint64_t /*inode*/) noexcept {}
};

/// A file's header (or other description of its data), if it changes while the file is open.
class Metadata {
 public:
  virtual ~Metadata() = default;

  /// Whether no rank keeps back written data: the same on every rank.
  virtual bool is_settled() const { return true; }
  /// Collective, in a channel in which the ranks have met, once everything buffered is written.
  /// Throws the same on every rank.
  virtual void settle(const Channel&) {}

  /// Whether written data is lost unless update_metadata() follows.
  virtual bool is_needed() const { return false; }
  /// Whether the header is up to date: the same on every rank.
  virtual bool metadata_is_current() const = 0;
  /// On rank 0, once all data is in the file: updates the header.
  virtual void update_metadata(Storage&) = 0;
  /// On every rank, after rank 0 has done that.
  virtual void mark_metadata_current() = 0;
};

}  // namespace penstock
