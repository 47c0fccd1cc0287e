// Preloaded: records what the processes of a program do to the files of one folder, in order, for a replay of what a
// power cut would have left.
//
//   PENSTOCK_RECORD_FOLDER   the folder, absolute, without symbolic links
//   PENSTOCK_RECORD_LOG      a file elsewhere that gets the records
//
// A record is a line of words, and for a write its bytes:
//   create INODE PATH | mkdir INODE PATH | rename FROM TO | unlink PATH | rmdir PATH
//   write INODE OFFSET LENGTH, then the bytes | size INODE BYTES | hole INODE BEGIN END
//   sync INODE (a file or a folder) | syncfs
// What is recorded has succeeded. Files are named by inode, since a name may lead to another file later. O_TMPFILE,
// links, memory that is mapped for writing, io_uring and O_DIRECT's descriptors that were opened elsewhere are not
// recorded: the test uses none of them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static const char* folder(void) {
  return getenv("PENSTOCK_RECORD_FOLDER");
}

static bool inside(const char* path) {
  const size_t length = folder() ? strlen(folder()) : 0;
  return length > 0 && strncmp(path, folder(), length) == 0 && (path[length] == '/' || path[length] == '\0');
}

// The path of `name` in the folder of `at`, of which the last part may not exist; false: it is not in the folder.
static bool whole_path(int at, const char* name, char* path) {
  char base[PATH_MAX] = "", joined[2 * PATH_MAX + 2];
  if (name[0] != '/') {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    const ssize_t length = readlink(at == AT_FDCWD ? "/proc/self/cwd" : link, base, sizeof base - 1);
    if (length < 0) return false;
    base[length] = '\0';
  }
  snprintf(joined, sizeof joined, "%s%s%s", base, base[0] ? "/" : "", name);
  char* const last = strrchr(joined, '/');
  *last = '\0';
  char real[PATH_MAX];
  if (joined[0] == '\0' || realpath(joined, real) == NULL) return false;
  return snprintf(path, PATH_MAX, "%s/%s", real, last + 1) < PATH_MAX && inside(path);
}

// The inode of what is open, where that lies in the folder; 0: elsewhere.
static unsigned long long inode_of(int fd) {
  if (!folder()) return 0;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  struct stat status;
  return inside(path) && fstat(fd, &status) == 0 ? status.st_ino : 0;
}

static void put(const char* words, const struct iovec* parts, int count, size_t bytes) {
  static int log = -1;
  const int error = errno;
  if (log < 0) log = REAL(open)(getenv("PENSTOCK_RECORD_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  char* const record = malloc(strlen(words) + bytes);
  size_t length = strlen(words);
  memcpy(record, words, length);
  for (int i = 0; i < count && bytes > 0; ++i) {
    const size_t part = parts[i].iov_len < bytes ? parts[i].iov_len : bytes;
    memcpy(record + length, parts[i].iov_base, part);
    length += part;
    bytes -= part;
  }
  if (REAL(write)(log, record, length) != (ssize_t)length) abort();  // with O_APPEND: as a whole
  free(record);
  errno = error;
}

static void say(const char* format, ...) {
  char words[3 * PATH_MAX];
  va_list list;
  va_start(list, format);
  vsnprintf(words, sizeof words, format, list);
  va_end(list);
  put(words, NULL, 0, 0);
}

static int opened(int at, const char* name, int flags, mode_t mode, const char* real) {
  char path[PATH_MAX];
  const bool watched = (flags & (O_CREAT | O_TRUNC)) != 0 && whole_path(at, name, path);
  struct stat before;
  const bool there = watched && stat(path, &before) == 0;
  __typeof__(&openat) const open_it = (__typeof__(&openat))dlsym(RTLD_NEXT, real);
  const int fd = open_it(at, name, flags, mode);
  if (!watched || fd < 0) return fd;
  struct stat after;
  fstat(fd, &after);
  if (!there) say("create %llu %s\n", (unsigned long long)after.st_ino, path);
  else if ((flags & O_TRUNC) != 0 && before.st_size > 0) say("size %llu 0\n", (unsigned long long)after.st_ino);
  return fd;
}

#define MODE_OF(flags)                             \
  mode_t mode = 0;                                 \
  if (((flags) & (O_CREAT | __O_TMPFILE)) != 0) {  \
    va_list list;                                  \
    va_start(list, flags);                         \
    mode = va_arg(list, mode_t);                   \
    va_end(list);                                  \
  }

int open(const char* name, int flags, ...) {
  MODE_OF(flags)
  return opened(AT_FDCWD, name, flags, mode, "openat");
}
int open64(const char* name, int flags, ...) {
  MODE_OF(flags)
  return opened(AT_FDCWD, name, flags, mode, "openat64");
}
int openat(int at, const char* name, int flags, ...) {
  MODE_OF(flags)
  return opened(at, name, flags, mode, "openat");
}
int openat64(int at, const char* name, int flags, ...) {
  MODE_OF(flags)
  return opened(at, name, flags, mode, "openat64");
}
int mkstemp(char* name) {
  const int fd = REAL(mkstemp)(name);
  char path[PATH_MAX];
  if (fd >= 0 && whole_path(AT_FDCWD, name, path)) say("create %llu %s\n", inode_of(fd), path);
  return fd;
}
int mkstemp64(char* name) {
  return mkstemp(name);
}

static ssize_t wrote(int fd, const struct iovec* parts, int count, off_t offset, ssize_t moved) {
  const unsigned long long inode = moved > 0 ? inode_of(fd) : 0;
  if (inode == 0) return moved;
  char words[128];
  snprintf(words, sizeof words, "write %llu %lld %zd\n", inode, (long long)offset, moved);
  put(words, parts, count, (size_t)moved);
  return moved;
}

ssize_t write(int fd, const void* bytes, size_t length) {
  const off_t offset = lseek(fd, 0, SEEK_CUR);
  const struct iovec part = {(void*)bytes, length};
  return wrote(fd, &part, 1, offset, REAL(write)(fd, bytes, length));
}
ssize_t pwrite(int fd, const void* bytes, size_t length, off_t offset) {
  const struct iovec part = {(void*)bytes, length};
  return wrote(fd, &part, 1, offset, REAL(pwrite)(fd, bytes, length, offset));
}
ssize_t pwrite64(int fd, const void* bytes, size_t length, off64_t offset) {
  return pwrite(fd, bytes, length, offset);
}
ssize_t pwritev(int fd, const struct iovec* parts, int count, off_t offset) {
  return wrote(fd, parts, count, offset, REAL(pwritev)(fd, parts, count, offset));
}
ssize_t pwritev64(int fd, const struct iovec* parts, int count, off64_t offset) {
  return pwritev(fd, parts, count, offset);
}
ssize_t pwritev2(int fd, const struct iovec* parts, int count, off_t offset, int flags) {
  return wrote(fd, parts, count, offset, REAL(pwritev2)(fd, parts, count, offset, flags));
}
ssize_t pwritev64v2(int fd, const struct iovec* parts, int count, off64_t offset, int flags) {
  return pwritev2(fd, parts, count, offset, flags);
}

int ftruncate(int fd, off_t bytes) {
  const int code = REAL(ftruncate)(fd, bytes);
  if (code == 0 && inode_of(fd) != 0) say("size %llu %lld\n", inode_of(fd), (long long)bytes);
  return code;
}
int ftruncate64(int fd, off64_t bytes) {
  return ftruncate(fd, bytes);
}
int fallocate(int fd, int mode, off_t offset, off_t length) {
  const int code = REAL(fallocate)(fd, mode, offset, length);
  if (code != 0 || inode_of(fd) == 0) return code;
  struct stat status;
  fstat(fd, &status);
  if ((mode & FALLOC_FL_PUNCH_HOLE) != 0)
    say("hole %llu %lld %lld\n", inode_of(fd), (long long)offset, (long long)(offset + length));
  else say("size %llu %lld\n", inode_of(fd), (long long)status.st_size);
  return code;
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  return fallocate(fd, mode, offset, length);
}

static int synced(int fd, int code) {
  if (code == 0 && inode_of(fd) != 0) say("sync %llu\n", inode_of(fd));
  return code;
}
int fsync(int fd) {
  return synced(fd, REAL(fsync)(fd));
}
int fdatasync(int fd) {
  return synced(fd, REAL(fdatasync)(fd));
}
int syncfs(int fd) {
  const int code = REAL(syncfs)(fd);
  if (code == 0 && inode_of(fd) != 0) say("syncfs\n");
  return code;
}

static int renamed(int from_at, const char* from, int to_at, const char* to, int code) {
  char old[PATH_MAX], next[PATH_MAX];
  if (code == 0 && whole_path(from_at, from, old) && whole_path(to_at, to, next)) say("rename %s %s\n", old, next);
  return code;
}
int rename(const char* from, const char* to) {
  return renamed(AT_FDCWD, from, AT_FDCWD, to, REAL(rename)(from, to));
}
int renameat(int from_at, const char* from, int to_at, const char* to) {
  return renamed(from_at, from, to_at, to, REAL(renameat)(from_at, from, to_at, to));
}
int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  return renamed(from_at, from, to_at, to, REAL(renameat2)(from_at, from, to_at, to, flags));
}

static int removed(int at, const char* name, const char* what, int code) {
  char path[PATH_MAX];
  if (code == 0 && whole_path(at, name, path)) say("%s %s\n", what, path);
  return code;
}
int unlink(const char* name) {
  return removed(AT_FDCWD, name, "unlink", REAL(unlink)(name));
}
int rmdir(const char* name) {
  return removed(AT_FDCWD, name, "rmdir", REAL(rmdir)(name));
}
int unlinkat(int at, const char* name, int flags) {
  return removed(at, name, (flags & AT_REMOVEDIR) != 0 ? "rmdir" : "unlink", REAL(unlinkat)(at, name, flags));
}
int remove(const char* name) {
  struct stat status;
  const bool is_folder = lstat(name, &status) == 0 && S_ISDIR(status.st_mode);
  return is_folder ? rmdir(name) : unlink(name);
}
int mkdir(const char* name, mode_t mode) {
  const int code = REAL(mkdir)(name, mode);
  char path[PATH_MAX];
  struct stat status;
  if (code == 0 && whole_path(AT_FDCWD, name, path) && stat(path, &status) == 0)
    say("mkdir %llu %s\n", (unsigned long long)status.st_ino, path);
  return code;
}
