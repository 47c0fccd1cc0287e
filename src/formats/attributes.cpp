#include "formats/attributes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "base/failure.hpp"
#include "storage/regular_file.hpp"
#include "storage/replacement.hpp"

namespace penstock {
namespace {

std::string record_of(const std::string& path) {
  return path + ".attrs.json";
}

std::string record_of(const std::string& path, std::uint64_t inode) {
  return record_of(path) + "." + std::to_string(inode);
}

bool is_there(const std::string& name) {
  struct stat status {};
  return ::stat(name.c_str(), &status) == 0;
}

/// The name of the record prepared for the file at this path; empty if there is none.
std::string prepared_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  std::string name = record_of(path, status.st_ino);
  return is_there(name) ? name : std::string();
}

void remove(const std::string& name) {
  if (::unlink(name.c_str()) != 0 && errno != ENOENT) throw_errno("removing", name, -errno);
}

/// Writes a new record, with the permissions of the file at `like`, in place of `name`.
void write_record(const std::string& path, const std::string& like, const std::string& text,
                  const std::string& name) {
  Replacement record(record_of(path), {.like = like});
  record.write(std::as_bytes(std::span(text)));
  record.sync();
  record.commit_as(name);
  record.sync_folder();
}

}  // namespace

std::string read_attributes(const std::string& path) {
  const std::string prepared = prepared_of(path);
  const std::string name = prepared.empty() ? record_of(path) : prepared;
  return read_metadata_file(name).value_or(std::string());
}

void replace_attributes(const std::string& path, const std::string& text) {
  settle_attributes(path);
  remove_leftovers(record_of(path));
  write_record(path, path, text, record_of(path));
}

void remove_attributes(const std::string& path) {
  settle_attributes(path);
  remove(record_of(path));
}

void prepare_attributes(const std::string& path, const std::string& new_path,
                        const std::string& text) {
  settle_attributes(path);
  remove_leftovers(record_of(path));
  if (text.empty() && !is_there(record_of(path))) return;
  struct stat status {};
  if (::stat(new_path.c_str(), &status) != 0) throw_errno("looking at", new_path, -errno);
  write_record(path, new_path, text, record_of(path, status.st_ino));
}

void settle_attributes(const std::string& path) {
  const std::string prepared = prepared_of(path);
  if (prepared.empty()) return;
  struct stat status {};
  if (::stat(prepared.c_str(), &status) != 0) throw_errno("looking at", prepared, -errno);
  if (status.st_size > 0) {
    if (::rename(prepared.c_str(), record_of(path).c_str()) != 0)
      throw_errno("replacing", record_of(path), -errno);
    return;
  }
  remove(record_of(path));
  remove(prepared);
}

void forget_attributes(const std::string& path, std::uint64_t inode) noexcept {
  ::unlink(record_of(path, inode).c_str());
}

}  // namespace penstock
