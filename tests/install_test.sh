#!/usr/bin/env bash
# The installed library as C++, C and Fortran users get it: cmake --install, find_package(penstock) or pkg-config, run.
#   install_test.sh SOURCE BUILD MPICC MPIEXEC
set -euo pipefail
source=$1 build=$2 mpicc=$3 mpiexec=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
die() { echo "install_test: $*" >&2; exit 1; }
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }; }

run_blocks() {
  rm -f blocks.npy
  timeout 60 "$mpiexec" -n 3 "$1" >/dev/null
  local size
  size=$(wc -c <blocks.npy)
  [ "$size" = $((128 + 512 * 512 * 8)) ] || die "$1: blocks.npy has $size bytes"
}
configure() {
  cmake -S "$source/$1" -B "$folder/$(basename "$1")" -DCMAKE_PREFIX_PATH="$prefix" -DMPI_C_COMPILER="$mpicc" -DMPI_Fortran_COMPILER="$mpifort" "${@:2}"
}

cmake --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$prefix"  # an installed tree may be moved
cd "$folder"
languages=(cxx c)
# Fortran, if it was built and this MPI library has it.
mpifort=${mpicc%/*}/$(basename "$mpicc" | sed 's/^mpicc/mpifort/')
if [ -n "$(find "$prefix" -name penstock.mod)" ] && [ -x "$mpifort" ]; then languages+=(fortran); fi
for language in "${languages[@]}"; do
  quietly configure examples/$language
  quietly cmake --build "$folder/$language"
  run_blocks "$folder/$language/blocks"
done

# A larger program.
quietly configure evaluation/jeans -DJEANS_BUILD_TESTS=OFF
quietly cmake --build "$folder/jeans" --parallel 2
quietly timeout 60 "$mpiexec" -n 3 "$folder/jeans/jeans" --cells 16,16,16 --iterations 1 --dump-every 1
size=$(wc -c <restart.dat)
[ "$size" = $((24 + 6 * 4 * 16 * 16 * 16)) ] || die "jeans: restart.dat has $size bytes"

if command -v pkg-config >/dev/null; then
  pc=$(find "$prefix" -name penstock.pc)
  ! grep -F -e "$source" -e "$build" -e "$folder" "$(dirname "$pc")"/*.pc || die "a .pc file has paths of the build"
  PKG_CONFIG_PATH=$(dirname "$pc")
  export PKG_CONFIG_PATH
  read -ra flags <<<"$(pkg-config --cflags penstock)"
  read -ra libraries <<<"$(pkg-config --libs penstock)"
  quietly "$mpicc" -std=c99 "${flags[@]}" "$source/examples/c/blocks.c" -o from_c "${libraries[@]}"
  run_blocks ./from_c
  quietly "$mpicc" -x c++ -std=c++20 "${flags[@]}" "$source/examples/cxx/blocks.cpp" -x none -o from_cxx "${libraries[@]}"
  run_blocks ./from_cxx
  if [[ " ${languages[*]} " == *" fortran "* ]]; then
    read -ra flags <<<"$(pkg-config --cflags --libs penstock-fortran)"
    quietly "$mpifort" "$source/examples/fortran/blocks.f90" -o from_fortran "${flags[@]}"
    run_blocks ./from_fortran
  fi
else
  echo "there is no pkg-config: penstock.pc is not tested"
fi

# Another MPI library than the one that Penstock was built with must be refused with a message.
config=$(find "$prefix" -name penstockConfig.cmake)
sed -i 's/STREQUAL "[^"]*"/STREQUAL "Another MPI"/; s/was built with [^,]*,/was built with Another MPI,/' "$config"
rm -rf "$folder/c"
! configure examples/c >"$folder/log" 2>&1 || die "find_package took a Penstock of another MPI library"
tr -s '\n ' ' ' <"$folder/log" | grep -q "this Penstock was built with Another MPI, but the MPI library of this project is" ||
  { cat "$folder/log"; die "find_package did not say why it refused"; }
