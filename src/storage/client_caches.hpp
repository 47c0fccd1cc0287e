// Page caches of the hosts that a network file system has as clients. Those of NFS, FUSE, SMB and
// others do not agree: what one host has cached of a file stays what it is, whatever another host
// writes there (docs/decisions/0010-client-caches.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/storage.hpp"

namespace penstock {

/// Whether page caches of different hosts agree on what is in a file, as far as a file system of
/// this type can be on several hosts at all.
bool caches_agree(std::string_view type);

/// Which page cache holds the bytes of a file, as text that processes have alike where it is the
/// same one: one mount (device number) of one running kernel. Empty: this cannot be known.
std::string find_page_cache(const std::string& path);

/// The size of an open file as its server has it now: bytes, or -errno. The kernel has it then,
/// too.
std::int64_t server_size(int fd);
/// Storage::forget_cached() of an open file.
void forget_cached(int fd);
/// The kernel asks the server what is under a name, where it would trust what it knows of it.
void look_anew(const std::string& path) noexcept;

/// Whether somebody else holds a lock on a byte of the file: to find out whether locks of one host
/// keep others out.
bool is_locked(const std::string& path, std::int64_t offset);

/// `inner`, of a file that other hosts change meanwhile: each read gets what they have written when
/// it begins, and each write is with the server when it ends. `early`: a client may answer a write
/// before it sends it, as user-space clients (FUSE) do. `exact`: both byte by byte; else through
/// the page cache, which may write back whole pages.
std::unique_ptr<Storage> go_past_cache(std::unique_ptr<Storage> inner, bool early, bool& exact);

}  // namespace penstock
