// A file that replaces another (OpenFlag::replace): rank 0 creates it on opening and renames it
// when all ranks have closed it, unless a rank failed to write or sync.
#include "file/byte_file.hpp"
#include "mpi/agree.hpp"
#include "mpi/drive.hpp"

namespace penstock {
namespace {

/// For a close that has replaced nothing. After a disagreement the file is still open.
Error in_whole_words(const Error& error, const std::string& path) {
  if (error.error_class() == ErrorClass::disagreement) return error;
  return Error::from_rank(error.rank(), error.error_class(),
                          error.what() + ("; " + left_as_it_was(path)), error.path(),
                          error.offset(), error.error_number());
}

}  // namespace

std::string left_as_it_was(const std::string& path) {
  return "'" + path + "' is left as it was before it was opened";
}

void ByteFile::make_replacement() {
  const std::string target = find_replaceable(path_);
  remove_leftovers(target, [this](std::uint64_t inode) { contents_.forget_replacing(inode); });
  replacement_ = std::make_unique<Replacement>(target);
  open_path_ = replacement_->path();
}

/// Behind all that this rank has queued: most of it is on the device when the ranks meet. A failure
/// is kept, since the system reports it once.
void ByteFile::sync_in_background() {
  ++counts_.other_calls;
  IoUnit unit;
  unit.work = [this] {
    const std::int64_t code = storage_->sync();
    if (code < 0) sync_failure_ = attempt([&] { throw_errno("syncing", path_, code); });
  };
  buffered_->submit(std::move(unit));
}

/// This rank's error, for the agreement of close. Otherwise all that it has written is on the
/// device.
std::optional<Error> ByteFile::ready_to_replace() {
  file_->unreported_failure();
  if (file_->damage) return file_->damage;
  if (sync_failure_) return sync_failure_;
  return attempt([&] {
    ++counts_.other_calls;
    const Watched access(listener_, Phase::file_sync);
    const std::int64_t code = storage_->sync();
    if (code < 0) throw_errno("syncing", path_, code);
  });
}

/// The agreement of close, and the replacement if no rank has an error.
void ByteFile::replace(const Channel& channel) {
  const std::optional<Error> error = attempt([&] {
    meet(channel, {}, ready_to_replace());
    bring_up_to_date(channel);
  });
  if (error) throw in_whole_words(*error, path_);
  put_in_place(channel);
}

/// All ranks have written everything: rank 0 puts the file in place.
void ByteFile::put_in_place(const Channel& channel) {
  const std::optional<Error> error = attempt([&] {
    if (!replacement_) return;
    const std::uint64_t inode = replacement_->inode();
    try {
      replacement_->sync();
      contents_.before_replacing(replacement_->path());
      replacement_->commit();
    } catch (...) {
      contents_.forget_replacing(inode);
      throw;
    }
    contents_.after_replacing();
    replacement_->sync_folder();
  });
  drive(comm_, agree_on_exit(channel, error));
}

}  // namespace penstock
