#!/bin/sh
# The function that installs Debian packages, with stand-ins for the system's programs: nothing is installed here.
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"

for shell in dash sh bash; do
  command -v "$shell" >/dev/null 2>&1 || continue

  # stand_in NAME BODY: a program of that name in ./bin, which is the whole PATH of the runs below.
  rm -rf bin
  mkdir bin
  stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"; chmod +x "bin/$1"; }
  for program in sh dash bash grep env cat; do
    path=$(command -v "$program") && ln -s "$path" "bin/$program"
  done
  : >calls
  # shellcheck disable=SC2016
  stand_in dpkg-query 'for last; do :; done; case " $(cat installed) " in *" $last "*) echo installed ;; *) exit 1 ;; esac'
  # shellcheck disable=SC2016
  stand_in apt-get 'echo "apt-get $*" >>calls; case $1 in update) exit 100 ;; esac; [ ! -f broken ]'
  stand_in id 'cat uid'
  # shellcheck disable=SC2016 # for the inner shell to expand
  run() { expect "$1" env PATH="$work/bin" "$shell" -c '. "$1"; need one two three; echo going on' "$shell" \
    "$source_root/src/cmake/debian-packages.sh"; }

  # All there: nothing is said, nothing is run.
  echo 'one two three' >installed
  echo 1000 >uid
  run 0
  if [ "$(cat out)" != 'going on' ] || [ -s err ] || [ -s calls ]; then die "$shell: not quiet when all is there"; fi

  # Missing, no administrator: the line to give to one, and no attempt.
  echo one >installed
  run 1
  grep -qF 'apt-get install -y --no-install-recommends two three' err || die "$shell: the line is not named"
  if [ -s calls ] || [ -s out ]; then die "$shell: something was run without permission"; fi

  # sudo that would ask for a password, and no terminal to ask at: as without.
  stand_in sudo 'exit 1'
  run 1
  grep -qF 'apt-get install -y --no-install-recommends two three' err || die "$shell: the line is not named"
  [ ! -s calls ] || die "$shell: something was run without permission"

  # sudo that works, then root: says what, installs only what is missing, and survives a failing update.
  # shellcheck disable=SC2016
  stand_in sudo 'case $1 in -n) shift ;; true) exit 0 ;; esac; echo "sudo $1" >>calls; exec "$@"'
  stand_in true 'exit 0'
  run 0
  grep -qF 'Installing with apt-get: two three' out || die "$shell: does not say what it installs"
  grep -qx 'apt-get install -y -q --no-install-recommends two three' calls || die "$shell: $(cat calls)"
  grep -q '^sudo env' calls || die "$shell: sudo is not used"
  : >calls
  echo 0 >uid
  run 0
  grep -qx 'apt-get install -y -q --no-install-recommends two three' calls || die "$shell: $(cat calls)"
  if grep -q sudo calls; then die "$shell: root does not need sudo"; fi

  # An installation that fails ends the script.
  : >broken
  run 1
  grep -qF 'could not install' err || die "$shell: a failed installation is not reported"
  rm broken

  # Another system: says what is needed and goes on.
  rm bin/dpkg-query
  run 0
  grep -qF 'one two three' err || die "$shell: does not name the packages elsewhere"
done
