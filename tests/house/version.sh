#!/bin/sh
# One version: the header, every binding, the manual page and the changelog have CMakeLists.txt's.
#   version.sh SOURCE_FOLDER VERSION
set -eu
cd "$1"
version=$2
minor=${version%.*}
wrong=0

# has FILE LINE: the file has this line, or one that begins with it.
has() {
  grep -qF -- "$2" "$1" || {
    echo "$1 has no \"$2\"" >&2
    wrong=1
  }
}
number=$(echo "$version" | awk -F . '{ printf "0x%02x%02x%02x", $1, $2, $3 }')
has include/knng/types.h "#define KNNG_HEADER_VERSION $number"
has bindings/python/knng/_version.py "__version__ = \"$version\""
has bindings/r/DESCRIPTION "Version: $version"
has bindings/r/DESCRIPTION "libknng (>= $minor)"
has bindings/r/configure "knng >= $minor' 'knng < ${minor%.*}.$((${minor#*.} + 1))'"
has bindings/r/configure "KNNG_HEADER_VERSION >> 8 != ${minor#*.}" # of major version 0
has bindings/r/NEWS.md "# knng $version"
has bindings/julia/Project.toml "version = \"$version\""
for crate in knng knng-sys knng-ndarray; do
  has "bindings/rust/$crate/Cargo.toml" "version = \"$version\""
done
has bindings/rust/knng/Cargo.toml "knng-sys = { version = \"$version\""
has bindings/rust/knng-ndarray/Cargo.toml "knng = { version = \"$version\""
has bindings/rust/knng-sys/build.rs "FROM: &str = \"$version\""
has bindings/rust/knng-sys/build.rs "BEFORE: &str = \"${minor%.*}.$((${minor#*.} + 1)).0\"" # of major version 0
[ "$(grep -cF "version = \"$version\"" bindings/rust/Cargo.lock)" -eq 2 ] || has bindings/rust/Cargo.lock "twice version = \"$version\""
has docs/knng.1 "\"knng $version\""
has docs/changelog.md "## $version"
has docs/versioning.md "find_package(knng $minor)"
for page in docs/guide/first-graph.md docs/guide/fortran.md tests/install/package/CMakeLists.txt; do
  has "$page" "find_package(knng $minor REQUIRED)"
done
exit "$wrong"
