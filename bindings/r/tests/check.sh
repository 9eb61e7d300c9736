#!/bin/sh
# Builds the package with its vignette and checks it as CRAN does, without looking anything up: no error, no warning.
#   check.sh PACKAGE_FOLDER INCLUDE_FOLDER LIBRARY_FOLDER WORK_FOLDER
# 77: R, or a package that the check needs, is missing; never where KNNG_CI=true.
set -eu
package=$1
export INCLUDE_DIR="$2" LIB_DIR="$3"
work=$4

missing() {
  echo "skipped: $1"
  [ "${KNNG_CI:-}" = true ] && exit 1
  exit 77
}
command -v R >/dev/null || missing "R is not installed"
lacks=$(Rscript --vanilla -e 'for (name in c("Matrix", "testthat", "knitr", "markdown")) if (!nzchar(system.file(package = name))) cat(name, "")')
[ -z "$lacks" ] || missing "the R package $lacks is not installed"

rm -rf "$work"
mkdir -p "$work"
cd "$work"
# A copy, as that of a source which cannot be written to can neither be configured nor removed.
cp -r "$package" source
chmod -R u+w source
package=source
export R_LIBS_USER="$work/none" R_ENVIRON_USER=/dev/null R_PROFILE_USER="$work/profile" NOT_CRAN=true
# In place of CRAN and Bioconductor there is an archive without packages.
mkdir -p archive/src/contrib
: >archive/src/contrib/PACKAGES
echo "local({ r <- rep('file://$work/archive', 4); names(r) <- c('CRAN', 'BioCsoft', 'BioCann', 'BioCexp'); options(repos = r) })" >profile
# Nothing is fetched, the clock is believed, and packages that are only suggested may be missing outside of CI.
export _R_CHECK_CRAN_INCOMING_=false _R_CHECK_CRAN_INCOMING_REMOTE_=false _R_CHECK_SYSTEM_CLOCK_=false
# The check asks checkbashisms about configure and cleanup. Its package brings fifty others; shellcheck looks for the same.
if ! command -v checkbashisms >/dev/null; then
  command -v shellcheck >/dev/null || missing "neither checkbashisms nor shellcheck is installed"
  mkdir bin
  # shellcheck disable=SC2016 # for the script that is written
  printf '%s\n' '#!/bin/sh' 'for file; do :; done' 'exec shellcheck -s sh -f gcc "$file"' >bin/checkbashisms
  chmod +x bin/checkbashisms
  PATH=$work/bin:$PATH
fi
[ "${KNNG_CI:-}" = true ] || export _R_CHECK_FORCE_SUGGESTS_=false
# Where there is no libknng, configure says what to install, and what may be set.
if [ ! -e /usr/include/knng.h ] && [ ! -e /usr/local/include/knng.h ]; then
  cp -r "$package" bare
  (cd bare && INCLUDE_DIR='' LIB_DIR='' PKG_CONFIG=false ./configure) >said 2>&1 && echo "configure found a libknng that is not there" && exit 1
  grep -q 'libknng 0.9 was not found' said && grep -q INCLUDE_DIR said
  rm -r bare
fi
# configure asks pkg-config where nothing is set, and takes a library of this minor version alone.
if command -v pkg-config >/dev/null; then
  # asked HEADERS VERSION: what configure makes of a knng.pc of this version, with headers in this folder
  asked() {
    rm -rf asked
    cp -r "$package" asked
    printf 'libdir=%s\nName: knng\nDescription: as built\nVersion: %s\nCflags: -I%s\nLibs: -L%s -lknng\n' \
      "$LIB_DIR" "$2" "$1" "$LIB_DIR" >asked/knng.pc
    (cd asked && INCLUDE_DIR='' LIB_DIR='' PKG_CONFIG_LIBDIR=. PKG_CONFIG_PATH='' LD_LIBRARY_PATH='' ./configure) >said 2>&1
  }
  asked "$INCLUDE_DIR" 0.9.7 || { cat said; exit 1; }
  tr -s ' ' <asked/src/Makevars >made
  if ! grep -qxF "PKG_CFLAGS = -I$INCLUDE_DIR \$(C_VISIBILITY)" made || ! grep -qxF "PKG_LIBS = -L$LIB_DIR -lknng -Wl,-rpath,$LIB_DIR" made; then
    echo "of what pkg-config says configure makes"
    cat made
    exit 1
  fi
  if [ ! -e /usr/include/knng.h ] && [ ! -e /usr/local/include/knng.h ]; then
    for version in 0.8.9 0.10.0 1.0.0; do
      asked "$INCLUDE_DIR" "$version" && echo "configure took libknng $version" && exit 1
      grep -q 'libknng 0.9 was not found' said
    done
  fi
  # Whatever knng.pc says, the header counts.
  mkdir another
  cp -r "$INCLUDE_DIR/." another
  chmod -R u+w another
  sed -i 's/^#define KNNG_HEADER_VERSION .*/#define KNNG_HEADER_VERSION 0x000a00/' another/knng/types.h
  asked "$work/another" 0.9.0 && echo "configure took headers of 0.10" && exit 1
  grep -q 'this package is for libknng 0.9' said
fi
R CMD build "$package"
archive=$(ls knng_*.tar.gz)
# The vignette is there, with its pictures, and asks no other machine for anything.
tar -xzOf "$archive" knng/inst/doc/knng.html >vignette.html
grep -q '<img src="data:image/png;base64' vignette.html
if grep -nE '<script|<link|(src|href)="(https?:)?//' vignette.html; then
  echo "the vignette would load what is not in it"
  exit 1
fi
R CMD check --as-cran --no-manual "$archive" || failed=1
if [ -n "${failed:-}" ] || grep -qE '\.\.\. .*(ERROR|WARNING)$' knng.Rcheck/00check.log; then
  cat knng.Rcheck/00install.out
  find knng.Rcheck -name '*.Rout*' -exec cat {} +
  exit 1
fi
grep -q '^Status:' knng.Rcheck/00check.log
if grep 'unable to access' knng.Rcheck/00check.log; then exit 1; fi
# A library of another minor version is refused, by its own word.
printf '#include <stdint.h>\nint32_t knng_version(void) { return 0x000a00; }\n' >newer.c
$(R CMD config CC) -shared -fPIC newer.c -o newer.so
if LD_PRELOAD="$work/newer.so" Rscript --vanilla -e 'library(knng, lib.loc = "knng.Rcheck")' >said 2>&1 ||
  ! grep -q 'libknng 0.10.0 is installed, and this package was compiled with 0.9' said; then
  echo "with another libknng loading says"
  cat said
  exit 1
fi
# Where the library is gone since, loading says which file it was.
if ! ldconfig -p 2>/dev/null | grep -q libknng.so; then
  mkdir gone
  cp -r knng.Rcheck/knng gone
  LC_ALL=C sed -i "s|$LIB_DIR|$(printf %s "$LIB_DIR" | tr '[:alnum:]' x)|g" gone/knng/libs/knng.so
  if LD_LIBRARY_PATH='' Rscript --vanilla -e 'library(knng, lib.loc = "gone")' >said 2>&1 || ! grep -q 'libknng.so.0' said; then
    echo "without libknng.so.0 loading says"
    cat said
    exit 1
  fi
fi
