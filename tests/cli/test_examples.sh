#!/bin/sh
# The example programs, the picture included, on small data.   test_examples.sh KNNG
knng=$1
bin=$(dirname -- "$knng")
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"
need_numpy

expect 0 "$bin/first_graph"
[ "$(wc -l <out)" -eq 8 ] || die "first_graph does not print eight lines"
out_has '^0:  1 at 1\.0000  2 at 1\.0000$'
out_has '^7:  6 at 4\.4721  5 at 5\.0000$'

expect 0 "$bin/query"
out_has '^cat:  lion 0\.9746  dog 0\.9694$'
out_has '^\(0, 0\.5, 0\.9\):  train 0\.9907  car 0\.9587$'

# Ten classes of twelve images, each class around a level of grey of its own, so that labels agree; four labels are
# then changed, and each of these images is outvoted by its neighbours.
"$python" - <<'PY'
import gzip, struct
import numpy as np
r = np.random.default_rng(5)
labels = np.tile(np.arange(10), 12).astype("u1")
images = (20 + labels[:, None] * 22 + r.integers(0, 5, (120, 784))).astype("u1")
labels[[3, 44, 81, 105]] = (labels[[3, 44, 81, 105]] + 1) % 10
for name, part in (("train", slice(0, 80)), ("t10k", slice(80, 120))):
    n = len(labels[part])
    with gzip.open(name + "-images-idx3-ubyte.gz", "wb") as f:
        f.write(struct.pack(">IIII", 0x803, n, 28, 28) + images[part].tobytes())
    with gzip.open(name + "-labels-idx1-ubyte.gz", "wb") as f:
        f.write(struct.pack(">II", 0x801, n) + labels[part].tobytes())
PY
expect 0 "$knng" build train-images-idx3-ubyte.gz t10k-images-idx3-ubyte.gz -k 10 -o g.npz -q
expect 0 "$bin/fashion_mnist" g.npz . picture.png
out_has 'own label for 116 of 120 images'
out_has '^  Ankle boot '
"$python" - <<'PY' || die "the picture is not as it should be"
import struct, zlib
data = open("picture.png", "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR"
width, height = struct.unpack(">II", data[16:24])
assert (width, height) == (1076, 964), (width, height)
assert data[-8:-4] == b"IEND"
PY
expect 1 "$bin/fashion_mnist" missing.npz . picture.png
grep -q 'missing.npz' err || die "fashion_mnist does not name the missing graph"
expect 0 "$knng" build train-images-idx3-ubyte.gz -k 10 -o part.npz -q
expect 1 "$bin/fashion_mnist" part.npz . picture.png
expect 2 "$bin/fashion_mnist"

# The guide's program, as it is printed there: results on lines of their own, progress on a terminal alone.
if ! command -v cc >/dev/null 2>&1; then
  echo "no cc: the guide's program is not tried"
  exit 0
fi
# shellcheck disable=SC2016 # a line of the guide
sed -n '/^```c$/,/^```$/p' "$source_root/docs/guide/first-graph.md" | sed '/^```/d' >neighbours.c
lib=$bin/../lib
cc -std=c99 -pedantic-errors -Wall -Wextra -Werror -I"$source_root/include" neighbours.c -L"$lib" -lknng \
  -Wl,-rpath,"$lib" -o neighbours
"$python" - <<'PY' || die "the guide's program"
import os, pty, re, subprocess
import numpy as np
np.save("points.npy", np.random.default_rng(1).normal(size=(30000, 64)).astype("float32"))
p = subprocess.run(["./neighbours", "points.npy", "graph.knng"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
lines = p.stdout.decode().splitlines()
assert p.returncode == 0 and len(lines) == 3, (p.returncode, p.stdout)
for i, line in enumerate(lines):
    assert re.fullmatch(r"%d:( \d+ \(\d\.\d{4}\)){10}" % i, line), line
p = subprocess.run(["./neighbours", "missing.npy", "graph.knng"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
assert p.returncode == 1 and re.fullmatch(rb"neighbours: .*missing\.npy.*\n", p.stdout), (p.returncode, p.stdout)

pid, fd = pty.fork()
if pid == 0:
    os.execv("./neighbours", ["./neighbours", "points.npy", "graph.knng"])
seen = b""
while True:
    try:
        more = os.read(fd, 65536)
    except OSError:  # the other side is closed
        break
    if not more:
        break
    seen += more
_, status = os.waitpid(pid, 0)
assert status == 0 and b"\r" in seen and b"%\r\n0: " in seen, seen
PY

# The programs of the guide's page on C print what the page says that they print.
awk '/^```(c|text)$/ { f = substr($0, 4) (/c$/ ? ++n : n); next } /^```/ { f = "" } f { print > f }' \
  "$source_root/docs/guide/c.md"
[ -f text2 ] || die "the page on C has fewer than two programs and what they print"
for program in c[0-9]; do
  cc -std=c99 -pedantic-errors -Wall -Wextra -Werror -I"$source_root/include" -x c "$program" -x none -L"$lib" -lknng -lm \
    -Wl,-rpath,"$lib" -o program
  expect 0 ./program
  diff "text${program#c}" out >err || die "program $program of the page on C prints something else"
done

# The README's lines of C.
{
  cat <<'C'
#include <knng.h>
#include <stdio.h>
int main(void) {
  enum { n = 20, d = 2 };
  float x[n * d];
  for (int i = 0; i < n * d; ++i) x[i] = (float)(i * i);
C
  # shellcheck disable=SC2016 # a line of the page
  sed -n '/^```c$/,/^```$/p' "$source_root/README.md" | sed '/^```/d; s/^/  /'
  cat <<'C'
  if (e.code == 0) printf("%d %d\n", (int)ids.rows, (int)((const int64_t *)ids.data)[0]);
  knng_graph_destroy(g);
  knng_destroy(h);
  return 0;
}
C
} >readme.c
cc -std=c99 -pedantic-errors -Wall -Wextra -Werror -I"$source_root/include" readme.c -L"$lib" -lknng \
  -Wl,-rpath,"$lib" -o readme || die "the README's lines of C do not compile"
expect 0 ./readme
out_has '^20 1$'
