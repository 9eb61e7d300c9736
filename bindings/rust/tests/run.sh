#!/bin/sh
# Tests of the crates, against a library that was built and not installed.
#   run.sh crates|lint|leaks|probe LIBRARY_FOLDER WORK_FOLDER
# crates: declarations against bindings/api, unit and integration tests, programs of the documentation and of the guide,
#   examples
# lint: clippy and rustdoc without a warning
# leaks: tests under valgrind, but for those that take long under it
# probe: how the build script finds the library, and what it says where it does not
set -eu
part=$1 library=$2 work=$3/$1
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

unavailable() {
  echo "skipped: $*"
  [ "${KNNG_CI:-}" != true ] || exit 1
  exit 77
}

# Debian's, before one that a developer may have besides.
[ ! -x /usr/bin/cargo ] || PATH=/usr/bin:$PATH
command -v cargo >/dev/null || unavailable "cargo is needed (Debian: cargo)"
mkdir -p "$work"
export CARGO_HOME="$3/home" CARGO_TARGET_DIR="$3/target" CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never
export KNNG_LIB_DIR="$library" LD_LIBRARY_PATH="$library"
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0 # which a fourth of the time went into
cd "$source"

case $part in
  crates)
    cargo test --quiet --locked --offline --workspace
    cargo build --quiet --locked --offline -p knng
    echo "== docs/guide/rust.md"
    rm -f "$work/curve.svg"
    (cd "$work" && rustdoc --test --edition 2021 --extern "knng=$CARGO_TARGET_DIR/debug/libknng.rlib" \
      -L "dependency=$CARGO_TARGET_DIR/debug/deps" -L "native=$library" "$source/../../docs/guide/rust.md")
    # Its picture has a point for each row.
    points=$(grep -oE '[0-9]+\.[0-9],[0-9]+\.[0-9] ' "$work/curve.svg" | wc -l)
    [ "$points" -eq 1000 ] || { echo "curve.svg has $points points"; exit 1; }
    for example in knng/examples/*.rs; do
      name=$(basename "$example" .rs)
      echo "== $name"
      cargo run --quiet --locked --offline -p knng --example "$name" >"$work/$name.out"
      [ -s "$work/$name.out" ] || { echo "example $name prints nothing"; exit 1; }
    done
    # ends_with TEXT COMMAND...: the command fails, and says this.
    ends_with() {
      text=$1
      shift
      if "$@" >"$work/said" 2>&1 || ! grep -qF "$text" "$work/said"; then echo "'$text' is not in:"; cat "$work/said"; exit 1; fi
    }
    program=$CARGO_TARGET_DIR/debug/examples/neighbors
    echo "== without the library, and with another"
    ldconfig -p 2>/dev/null | grep -q 'libknng\.so' ||
      ends_with "libknng.so.0: cannot open shared object file" env LC_ALL=C LD_LIBRARY_PATH= "$program"
    printf 'int knng_version(void) { return 0x000a00; }\n' >"$work/newer.c"
    cc -shared -fPIC "$work/newer.c" -o "$work/newer.so"
    ends_with "libknng 0.10.0 is running, and this crate is for 0.9.x" env LD_PRELOAD="$work/newer.so" "$program"
    ;;
  lint)
    cargo clippy --version >/dev/null 2>&1 || unavailable "clippy is needed (Debian: rust-clippy)"
    cargo clippy --quiet --locked --offline --workspace --all-targets -- -D warnings
    RUSTDOCFLAGS='-D warnings' cargo doc --quiet --locked --offline --workspace --no-deps
    ;;
  leaks)
    command -v valgrind >/dev/null || unavailable "valgrind is needed"
    cargo test --locked --offline -p knng --tests --no-run 2>"$work/built" || { cat "$work/built"; exit 1; }
    sed -n 's/^ *Executable tests.*(\(.*\))$/\1/p' "$work/built" >"$work/programs"
    [ "$(wc -l <"$work/programs")" -eq "$(find knng/tests -name '*.rs' | wc -l)" ] || { cat "$work/built"; exit 1; }
    while read -r program; do
      valgrind --quiet --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite --error-exitcode=9 \
        "$program" --test-threads=1 --skip stop --skip fork --skip panic_in_progress --skip several_types --skip queries
    done <"$work/programs"
    ;;
  probe)
    command -v pkg-config >/dev/null || unavailable "pkg-config is needed"
    export CARGO_TARGET_DIR="$work/target"
    # describe VERSION: a knng.pc of this version, the only one that pkg-config sees. In a folder of its own, as a file that
    # changes asks for no new build.
    describe() {
      export PKG_CONFIG_LIBDIR="$work/$1"
      mkdir -p "$PKG_CONFIG_LIBDIR"
      printf 'Name: knng\nDescription: as built\nVersion: %s\nCflags:\nLibs: -L%s -lknng\n' "$1" "$library" >"$work/$1/knng.pc"
    }
    # A program, so that it is linked with what was found.
    build() {
      cargo build --locked --offline -p knng --example edges >"$work/log" 2>&1
    }
    says() {
      grep -q -- "$1" "$work/log" || { echo "'$1' is not in:"; cat "$work/log"; exit 1; }
    }
    refused() {
      if build; then echo "built although $1"; exit 1; fi
      says "$2"
    }
    rm -rf "$work/target"
    unset KNNG_LIB_DIR
    export PKG_CONFIG_PATH=
    describe 0.9.0
    build || { cat "$work/log"; exit 1; }
    describe 0.0.9
    refused "the library is too old" "libknng 0.9.0 or newer, before 0.10.0, was not found"
    says "0.0.9"
    describe 0.10.0
    refused "the library is too new" "before 0.10.0"
    export PKG_CONFIG_LIBDIR="$work/none"
    refused "there is no library" "KNNG_LIB_DIR"
    says "libknng-dev"
    PKG_CONFIG=no-such-tool
    export PKG_CONFIG
    refused "there is no pkg-config" "no-such-tool cannot be run"
    # The override needs no pkg-config, but a library.
    export KNNG_LIB_DIR="$work"
    refused "a folder has no library" "KNNG_LIB_DIR names $work, which has no libknng"
    export KNNG_LIB_DIR="$library"
    build || { cat "$work/log"; exit 1; }
    ;;
  *)
    echo "usage: run.sh crates|lint|leaks|probe LIBRARY_FOLDER WORK_FOLDER" >&2
    exit 2
    ;;
esac
