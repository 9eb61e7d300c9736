#!/bin/sh
# Progress and Ctrl-C, on a terminal and without one.   test_terminal.sh KNNG
knng=$1
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"
need_numpy

cat >terminal.py <<'PY'
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time
import numpy as np

knng = sys.argv[1]
np.save("x.npy", np.random.default_rng(3).standard_normal((20000, 200)).astype("f4"))
# Minutes of work in one thread: what is tested ends it long before.
slow = [knng, "build", "x.npy", "-k", "10", "-m", "minkowski", "-p", "2.5", "--threads", "1"]
before = sorted(os.listdir("."))

def defaults():  # whoever runs the tests may ignore signals
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)

def nothing_left():
    left = sorted(set(os.listdir(".")) - set(before))
    assert not left, "left behind: %s" % left

# Without a terminal: a plain line comes; each signal ends the run with its code and one line, and leaves nothing.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    p = subprocess.Popen(slow + ["-o", "g.npz"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=defaults)
    line = p.stderr.readline().decode()
    assert re.fullmatch(r"knng: \w+ \d+ %.*\n", line), repr(line)
    p.send_signal(number)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 128 + number, (p.returncode, err)
    assert out == b"" and err.decode().splitlines()[-1] == "knng: interrupted", (out, err)
    assert b"\r" not in err and b"\033" not in err, err
    nothing_left()

# A signal that was ignored stays ignored, so that nohup and background jobs work.
p = subprocess.Popen(slow + ["-q", "-o", "g.npz"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                     preexec_fn=lambda: (defaults(), signal.signal(signal.SIGINT, signal.SIG_IGN)))
time.sleep(1)
p.send_signal(signal.SIGINT)
time.sleep(1)
assert p.poll() is None, "an ignored SIGINT ended the run"
p.terminate()
out, err = p.communicate(timeout=60)
assert p.returncode == 143 and (out, err) == (b"", b"knng: interrupted\n"), (p.returncode, out, err)

# On a terminal: a bar, redrawn in place, never wider than the window; the terminal's own Ctrl-C.
for columns in (100, 50, 20):
    pid, fd = pty.fork()
    if pid == 0:
        defaults()
        os.environ["TERM"] = "xterm"
        while fcntl.ioctl(0, termios.TIOCGWINSZ, b"\0" * 8)[2:4] == b"\0\0":
            time.sleep(0.01)  # the window has its size only after the fork
        os.execv(knng, slow + ["-o", "g.npz"])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    seen, sent, end = b"", False, time.monotonic() + 120
    while time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                more = os.read(fd, 65536)
            except OSError:  # the other side is closed
                break
            if not more:
                break
            seen += more
        if not sent and seen.count(b"%") >= 10:
            os.write(fd, b"\x03")
            sent = True
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert os.waitstatus_to_exitcode(status) == 130, (status, seen)
    *bars, last = seen.decode().replace("\033[K", "").split("\r")[:-1]
    assert last.endswith("knng: interrupted"), seen
    drawn = [bar.replace("^C", "") for bar in bars if bar.strip()]
    assert len(drawn) >= 10 and all(len(bar) < columns and "%" in bar and "\n" not in bar for bar in drawn), drawn
    assert any(re.match(r"\w+ \[[#.]+\] ", bar) for bar in drawn) == (columns > 20), drawn
    assert any(bar.endswith("left") for bar in drawn) == (columns > 20), drawn
    nothing_left()
PY
"$python" terminal.py "$knng" || die "terminal.py"
