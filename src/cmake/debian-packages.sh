# shellcheck shell=sh
# For scripts to source: installs Debian packages that are missing, and says so. Knows nothing of what they are for.
#   need PACKAGE...   returns 0 when all are installed, else ends the script with a line that says what to do

need() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This is no Debian system, so packages are not looked at. Debian's names of what is needed: $*" >&2
    return 0
  fi
  need_missing=
  for need_package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$need_package" 2>/dev/null | grep -qx installed ||
      need_missing="$need_missing $need_package"
  done
  [ -n "$need_missing" ] || return 0

  need_as=
  if [ "$(id -u)" -ne 0 ]; then
    # Without a terminal sudo cannot ask for a password.
    if command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
      need_as=sudo
    else
      need_refuse "Packages are missing, and only an administrator can install them."
    fi
  fi
  echo "Installing with apt-get:$need_missing"
  # The lists of a fresh machine are empty. A source that fails is no reason to stop: the next line is the test.
  $need_as apt-get update -q ||
    echo "apt-get update failed; going on with the package lists that are there" >&2
  # shellcheck disable=SC2086 # a list of words
  $need_as env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $need_missing ||
    need_refuse "Packages are missing, and apt-get could not install them."
}

need_refuse() {
  {
    echo "$1 The line for an administrator:"
    echo "  apt-get update && apt-get install -y --no-install-recommends$need_missing"
  } >&2
  exit 1
}
