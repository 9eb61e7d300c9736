#!/bin/sh
# Installs a build into a folder of its own, as packages are made, and uses it from there as users do.
#   install.sh SOURCE_FOLDER BUILD_FOLDER VERSION
set -eu
root=$1 build=$2 version=$3
here=$root/tests/install
work=$(mktemp -d)
hidden=
trap '[ -z "$hidden" ] || mv "$work/hidden.a" "$hidden"; rm -rf "$work"' EXIT
unset KNNG_BACKEND_DIR LD_LIBRARY_PATH # what is installed finds its parts by itself

say() { echo "install: $*"; }

DESTDIR=$work/stage cmake --install "$build" >"$work/log" || {
  cat "$work/log" >&2
  exit 1
}
pc=$(find "$work/stage" -name knng.pc)
prefix=$work/stage$(PKG_CONFIG_LIBDIR=$(dirname "$pc") pkg-config --variable=prefix knng)
libdir=$work/stage$(PKG_CONFIG_LIBDIR=$(dirname "$pc") pkg-config --variable=libdir knng)
for file in "$prefix/share/doc/knng/LICENSE" "$prefix/share/doc/knng/copyright" "$prefix/include/knng.h" "$prefix/include/knng/types.h" "$libdir/libknng.so" "$libdir/libknng.so.0" \
  "$libdir/cmake/knng/knng-config.cmake"; do
  [ -e "$file" ] || {
    say "$file is missing" >&2
    exit 1
  }
done
if grep -rlF -e "$build" -e "$root" "$prefix/include" "$libdir/pkgconfig" "$libdir/cmake"; then
  say "a path of the build is in an installed file" >&2
  exit 1
fi
# Nor in a binary, but for what a debugger reads; and none is loaded from there.
for binary in "$libdir"/libknng*.so "$libdir"/knng0/*.so "$prefix"/bin/*; do
  [ -f "$binary" ] || continue
  # shellcheck disable=SC2016 # the loader expands it
  if readelf -d "$binary" | grep -E 'R(UN)?PATH' | grep -vF '$ORIGIN'; then
    say "$binary has a run path that is not its own" >&2
    exit 1
  fi
  if ! readelf -SW "$binary" | grep -q '\.debug_info' && strings -a "$binary" | grep -F -e "$build/" -e "$root/"; then
    say "$binary names a path of the build" >&2
    exit 1
  fi
done

export PKG_CONFIG_LIBDIR="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/stage"
[ "$(pkg-config --modversion knng)" = "$version" ]
strict="-pedantic-errors -Wall -Wextra -Werror"
# shellcheck disable=SC2086,SC2046 # lists of words
"$CC" -std=c99 $strict "$here/consumer.c" $(pkg-config --cflags --libs knng) -o "$work/c99"
# shellcheck disable=SC2086,SC2046
"$CXX" -std=c++11 $strict "$here/consumer.cpp" $(pkg-config --cflags --libs knng) -o "$work/cpp"
LD_LIBRARY_PATH=$libdir "$work/c99"
LD_LIBRARY_PATH=$libdir "$work/cpp"
say "pkg-config: C99 and C++"
unset PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR

# A prefix that is chosen when it is installed.
DESTDIR=$work/other cmake --install "$build" --prefix /chosen >"$work/log" || {
  cat "$work/log" >&2
  exit 1
}
chosen=$(dirname "$(find "$work/other" -name knng.pc)")
[ "$(PKG_CONFIG_LIBDIR=$chosen pkg-config --variable=includedir knng)" = /chosen/include ]
rm -rf "$work/other"
say "another prefix"

# A part that was not built, as after the example has built its own, is left out and stops nothing.
if [ -f "$build/lib/libknng_fortran.a" ]; then
  hidden=$build/lib/libknng_fortran.a
  mv "$hidden" "$work/hidden.a"
  DESTDIR=$work/part cmake --install "$build" >"$work/log" || {
    cat "$work/log" >&2
    exit 1
  }
  mv "$work/hidden.a" "$hidden"
  hidden=
  [ -n "$(find "$work/part" -name knng.pc)" ]
  if find "$work/part" -path '*fortran*' ! -path '*/share/doc/*' | grep .; then
    say "files of the Fortran module, which was not there, were installed" >&2
    exit 1
  fi
  rm -rf "$work/part"
  say "without the Fortran module"
fi

if ! { cmake -S "$here/package" -B "$work/package" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC" \
  -DCMAKE_CXX_COMPILER="$CXX" && cmake --build "$work/package"; } >"$work/log" 2>&1; then
  cat "$work/log" >&2
  exit 1
fi
"$work/package/consumer_c"
"$work/package/consumer_cpp"
say "find_package: C99 and C++"

if [ -x "$prefix/bin/knng" ]; then
  # Built for /usr it leaves the library to the system's loader, which does not look here.
  readelf -d "$prefix/bin/knng" | grep -q RUNPATH || export LD_LIBRARY_PATH="$libdir"
  "$prefix/bin/knng" --version | grep -qF "$version" || {
    say "knng --version does not say $version" >&2
    exit 1
  }
  # An IDX file of four points, through the whole command; .npz and .gz need the formats library, which the installed
  # library has to find beside itself.
  printf '\000\000\010\002\000\000\000\004\000\000\000\001\000\001\003\007' >"$work/points.idx"
  "$prefix/bin/knng" build "$work/points.idx" -k 1 -q -o "$work/points.knng"
  "$prefix/bin/knng" check "$work/points.knng" "$work/points.idx" >/dev/null
  if [ -e "$libdir/knng0/libknng_formats.so" ]; then
    gzip -c "$work/points.idx" >"$work/points.idx.gz"
    "$prefix/bin/knng" build "$work/points.idx.gz" -k 1 -q -o "$work/points.npz"
    "$prefix/bin/knng" check "$work/points.npz" "$work/points.idx" >/dev/null
  fi
  if [ -e "$libdir/knng0/libknng_hdf5.so" ]; then
    if /usr/bin/python3 -c 'import h5py, sys; h5py.File(sys.argv[1], "w")["x"] = [[0], [1], [3], [7]]' "$work/points.h5" 2>"$work/log"; then
      "$prefix/bin/knng" build "$work/points.h5:x" -k 1 -q -o "$work/other.knng"
      "$prefix/bin/knng" check "$work/other.knng" "$work/points.idx" >/dev/null
    else
      say "python3-h5py is missing: HDF5 files are not tried"
    fi
  fi
  say "the command"
fi
