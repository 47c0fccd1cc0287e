#!/bin/sh
# What launchers take for ssh:  ssh.sh [OPTION...] HOST WORD...
# Like ssh it gives the words to a shell of that host; unlike ssh it passes the environment on.
while :; do
  case $1 in
    -l | -p | -o | -i | -F) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=${1#*@}
shift
export TMPDIR=/mnt   # of that host alone; launchers keep their sockets there
exec nsenter -t "$(cat "$PENSTOCK_HOSTS/$host")" --net --uts --ipc --mount --pid --wd="$PWD" -- /bin/sh -c "$*"
