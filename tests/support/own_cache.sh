#!/bin/bash
# own_cache.sh PROGRAM...: runs one rank with a mount of its own of one folder, so with a page cache of its own, as each
# host has of a network file system. Needs root, /dev/fuse and Debian's bindfs.
#   CACHES=FOLDER          FOLDER/back is what every rank has at FOLDER/m
#   CACHE_OPTIONS=WORDS    of bindfs; without --enable-lock-forwarding locks of one rank keep no other out
set -u
exec unshare -m bash -c 'mount --make-rprivate / &&
  bindfs --multithreaded ${CACHE_OPTIONS:---enable-lock-forwarding} "$CACHES/back" "$CACHES/m" </dev/null >/dev/null 2>&1 || exit 77
  "$@"; status=$?; umount -l "$CACHES/m"; exit $status' _ "$@"
