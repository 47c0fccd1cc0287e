#!/usr/bin/env bash
# Runs an example on 4 ranks; the format's own program shows the file that it leaves: 512 x 512 doubles in 2 x 2 blocks, of
# which each has its rank in all elements.
#   run_dump.sh MPIEXEC PROGRAM h5dump|ncdump FILE
set -euo pipefail
mpiexec=$1 program=$2 dump=$3 file=$4
rm -f "$file"
timeout 60 "$mpiexec" -n 4 "$program"
case $dump in
  h5dump) h5dump -y -w 0 -d /run/blocks "$file" | sed -n '/DATA {/,/}/p' ;;
  ncdump) ncdump -v blocks "$file" | sed -n '/^ blocks =/,$p' ;;
esac | tr -cs '0-9' '\n' | grep . | awk '
  { row = int((NR - 1) / 512); column = (NR - 1) % 512; wanted = 2 * int(row / 256) + int(column / 256) }
  $1 != wanted { print "element " NR " is " $1 ", not " wanted; wrong = 1; exit }
  END { if (wrong || NR != 512 * 512) { print NR " elements"; exit 1 } }'
