#include "formats/anew.hpp"

#include <fcntl.h>

#include <cerrno>

#include "file/byte_file.hpp"

namespace penstock {
namespace {

void write_header(Storage& storage, const std::string& path, const Described& described) {
  if (described.new_header.empty()) return;
  const Transfer done = write_fully(storage, described.new_header, described.spec.offset);
  if (done.error != 0) throw_errno("writing the header of", path, -done.error);
}

/// What has to be restored after a failure: the size, and the bytes that the new header overwrites.
/// Restores them through a separate posix storage, since the file's device may be what has failed.
class OldContent {
 public:
  OldContent(const std::string& path, std::int64_t size, Extent header)
      : storage_(open_posix(path, OpenFlag::read_write)), size_(size), begin_(header.begin) {
    const Extent there = intersect(header, {0, size});
    bytes_.resize(static_cast<std::size_t>(there.length()));
    const Transfer got = read_fully(*storage_, bytes_, begin_);
    if (got.error != 0) throw_errno("reading the old header of", path, -got.error);
    bytes_.resize(static_cast<std::size_t>(got.bytes));
  }
  void bring_back() noexcept {
    if (!bytes_.empty()) write_fully(*storage_, bytes_, begin_);
    storage_->resize(size_);
  }
  Storage& storage() noexcept { return *storage_; }

 private:
  std::unique_ptr<Storage> storage_;
  std::int64_t size_, begin_;
  std::vector<std::byte> bytes_;
};

/// Replaces the old bytes by zeros and frees their space, except for the header. If the file system
/// cannot punch holes, the file is cut to 0 bytes and extended again, and the header is rewritten;
/// if one of these fails, the old content is lost.
void drop(OldContent& old, const std::string& path, const Described& described, std::int64_t end) {
  Storage& storage = old.storage();
  const std::int64_t header_end =
      described.spec.offset + static_cast<std::int64_t>(described.new_header.size());
  const std::int64_t size = storage.size();
  if (storage.drop({0, described.spec.offset}) == 0 && storage.drop({header_end, size}) == 0)
    return;
  resize(storage, path, 0);
  resize(storage, path, end);
  write_header(storage, path, described);
}

/// Runs `work` on the file, and restores it if that throws.
template <class Work>
OldContent change(const std::string& path, const Described& described, std::int64_t size,
                  Work&& work) {
  const std::int64_t at = described.spec.offset;
  const auto header_bytes = static_cast<std::int64_t>(described.new_header.size());
  OldContent old(path, size, {at, at + header_bytes});
  try {
    work();
  } catch (...) {
    old.bring_back();
    throw;
  }
  return old;
}

}  // namespace

void make_anew(Storage& storage, const std::string& path, const Described& described,
               std::int64_t end) {
  const std::int64_t size = checked_size(storage);
  OldContent old = change(path, described, size, [&] {
    if (size < end) resize(storage, path, end);
    write_header(storage, path, described);
    if (size > end) resize(storage, path, end);
  });
  if (size > 0) drop(old, path, described, end);
}

void fill_new(Storage& storage, const std::string& path, const Described& described,
              std::int64_t end) {
  resize(storage, path, end);
  write_header(storage, path, described);
}

void extend(Storage& storage, const std::string& path, const Described& described,
            std::int64_t end) {
  const std::int64_t size = checked_size(storage);
  if (size >= end && described.new_header.empty()) return;
  change(path, described, size, [&] {
    if (size < end) resize(storage, path, end);
    write_header(storage, path, described);
  });
}

}  // namespace penstock
