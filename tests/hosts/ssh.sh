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
exec nsenter -t "$(cat "/dev/shm/$host")" --net --uts --ipc --mount --pid --wd="$PWD" -- /bin/sh -c "$*"
