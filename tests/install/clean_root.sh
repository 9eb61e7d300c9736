#!/bin/sh
# The packages on a Debian that has never seen the project: installs all but CUDA's into a root of its own, and runs
# the first program of each language's page there, the consumers in C and C++, and the command; then removes them.
#   clean_root.sh SOURCE_FOLDER FOLDER_OF_PACKAGES
# 77: where such a root cannot be made (no mmdebstrap, no administrator, no network), with the reason; never where KNNG_CI=true.
set -eu
source=$1 packages=$2

unavailable() {
  echo "skipped: $1"
  [ "${KNNG_CI:-}" != true ] || exit 1
  exit 77
}
ls "$packages"/libknng-dev_*.deb >/dev/null 2>&1 || unavailable "no packages were made (install.packages says why)"
command -v mmdebstrap >/dev/null || unavailable "mmdebstrap is not installed"
[ "$(id -u)" -eq 0 ] || unavailable "only an administrator can make a root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of the same Debian and from the same place as this one's packages.
# shellcheck disable=SC2016 # apt's own names
apt-get indextargets --format 'deb [signed-by="/usr/share/keyrings/debian-archive-keyring.gpg"] $(REPO_URI) $(CODENAME) $(COMPONENT)' \
  'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null | sort -u >"$work/sources.list"
[ -s "$work/sources.list" ] || unavailable "apt knows of no Debian archive"
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

# What runs in there.
mkdir "$work/project"
cp "$packages"/*.deb "$work/project"
rm -f "$work"/project/libknng-cuda*.deb # cuBLAS is not in Debian's main section
cp -r "$source/tests/install" "$source/docs/guide" "$source/bindings/rust" "$work/project"
cat >"$work/project/inside.sh" <<'END'
set -eu
cd /project
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
say() { echo "== $*"; }
# first LANGUAGE: the first program of its page
first() { awk -v open="^\`\`\`$1\$" '!done && $0 ~ open { on = 1; next } on && /^```/ { on = 0; done = 1 } on' "guide/$2.md" | grep .; }
version=$(dpkg-deb -f libknng-dev_*.deb Version)

say "installing"
apt-get install -y -q --no-install-recommends ./*.deb >log 2>&1 || { cat log; exit 1; }
dpkg -l 'libknng*' knng python3-knng r-cran-knng | grep '^ii'
! dpkg --audit | grep .
[ -z "$(find / -xdev -name 'libcublas*' -o -xdev -name 'libcuda.so*')" ] # what follows needs none

say "the command"
printf '\000\000\010\002\000\000\000\004\000\000\000\001\000\001\003\007' | gzip >points.idx.gz
knng --version | grep -F "${version%-*}"
knng build points.idx.gz -k 2 -q -o graph.npz
knng check graph.npz points.idx.gz
man_page=$(find /usr/share/man -name knng.1.gz)
[ -z "$man_page" ] || gzip -t "$man_page"

say "C and C++ by pkg-config"
strict="-pedantic-errors -Wall -Wextra -Werror"
gcc -std=c99 $strict install/consumer.c $(pkg-config --cflags --libs knng) -o c && ./c
g++ -std=c++11 $strict install/consumer.cpp $(pkg-config --cflags --libs knng) -o cpp && ./cpp
say "C and C++ by CMake"
{ cmake -S install/package -B built && cmake --build built; } >log 2>&1 || { cat log; exit 1; }
./built/consumer_c && ./built/consumer_cpp

say "Python"
first python python >first.py
/usr/bin/python3 first.py
say "R"
first r r >first.R
Rscript --vanilla first.R
[ ! -e /usr/lib/R/site-library/knng/doc/knng.html ] || Rscript --vanilla -e 'stopifnot(nrow(vignette(package = "knng")$results) == 1)'
say "Fortran"
first fortran fortran >first.f90
gfortran first.f90 $(pkg-config --cflags --libs knng-fortran) -o fortran && ./fortran
say "Rust"
mkdir -p first/src
first rust rust >first/src/main.rs
printf '[package]\nname = "first"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\nknng = { path = "../rust/knng" }\n' >first/Cargo.toml
cargo run --quiet --offline --manifest-path first/Cargo.toml
say "Julia: $(apt-cache show julia 2>/dev/null | grep -q ^Version && echo "packaged here, not tried" || echo "this Debian has no package of it")"

say "removing"
apt-get purge -y -q 'libknng*' >log 2>&1 || { cat log; exit 1; }
find / -xdev -name '*knng*' -not -path '/proc/*' -not -path '/project*' -not -path '/var/lib/apt/*' >left
! grep . left
END

# shellcheck disable=SC2016 # for mmdebstrap's shell
if ! mmdebstrap --variant=apt --include=gcc,g++,libc6-dev,pkg-config,cmake,make,cargo --aptopt='Apt::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*/*' \
  --customize-hook="touch '$work/made'" --customize-hook="copy-in '$work/project' /" \
  --customize-hook='chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh /project/inside.sh' --format=null "$suite" /dev/null "$work/sources.list" >"$work/log" 2>&1; then
  if [ -e "$work/made" ]; then
    cat "$work/log"
    exit 1
  fi
  unavailable "no root can be made: $(grep -m 1 '^E:' "$work/log" || tail -n 1 "$work/log")"
fi
sed -n '/^== /,$p' "$work/log"
