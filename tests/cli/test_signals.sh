#!/bin/sh
# Signals end every command with 128 + signal, wherever it is, and no half file is left.   test_signals.sh KNNG
knng=$1
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname -- "$0")/common.sh"
need_numpy

cat >signals.py <<'PY'
import fcntl, os, random, resource, shutil, signal, subprocess, sys, time
import numpy as np

knng = sys.argv[1]
enders = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
r = np.random.default_rng(3)
np.save("x.npy", r.standard_normal((300, 4)))
np.save("few.npy", r.standard_normal((150, 1)).astype("f4"))
np.save("many.npy", r.standard_normal((100000, 1)).astype("f4"))
subprocess.run([knng, "build", "x.npy", "-k", "3", "-o", "g.npz", "-q"], check=True)
before = sorted(os.listdir("."))

def defaults():  # whoever runs the tests may ignore signals
    for number in enders + (signal.SIGPIPE,):
        signal.signal(number, signal.SIG_DFL)

def start(command, **more):
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": defaults, **more}
    return subprocess.Popen([knng] + command, **more)

def nothing_left(*but):
    left = sorted(set(os.listdir(".")) - set(before) - set(but))
    assert not left, "left behind: %s" % left

def catches(p):
    caught = [line for line in open("/proc/%d/status" % p.pid) if line.startswith("SigCgt:")]
    return int(caught[0].split()[1], 16) >> (signal.SIGINT - 1) & 1

# Every command, held up by a standard output that nobody reads: at once.
commands = (["build", "x.npy", "-k", "3", "-q"], ["query", "x.npy", "x.npy", "-k", "3", "-o", "q.npz", "--report", "-q"],
            ["info", "x.npy"], ["info", "g.npz", "--report"], ["check", "g.npz", "x.npy"],
            ["estimate", "x.npy", "-k", "3"], ["devices"], ["settings"], ["--help"])
for command in commands:
    for number in enders:
        ours, theirs = os.pipe()
        fcntl.fcntl(theirs, fcntl.F_SETFL, os.O_NONBLOCK)
        try:
            while True:
                os.write(theirs, b" " * 512)
        except BlockingIOError:
            pass
        fcntl.fcntl(theirs, fcntl.F_SETFL, 0)
        p = start(command, stdout=theirs)
        while not catches(p):
            time.sleep(0.001)
        time.sleep(random.random() / 20)  # somewhere on its way to the pipe
        p.send_signal(number)
        _, err = p.communicate(timeout=60)
        assert (p.returncode, err) == (128 + number, b"knng: interrupted\n"), (command, number, p.returncode, err)
        os.close(ours)
        os.close(theirs)
        nothing_left("q.npz")
if os.path.exists("q.npz"):
    os.unlink("q.npz")

# Nobody at the other end of the pipe: quietly.
for command in commands:
    ours, theirs = os.pipe()
    os.close(ours)
    p = start(command, stdout=theirs)
    os.close(theirs)
    _, err = p.communicate(timeout=60)
    assert (p.returncode, err) == (141, b""), (command, p.returncode, err)
    nothing_left("q.npz")
os.unlink("q.npz")

# The same with a graph to be saved, whose report nobody reads from the first line on, nor what is said on standard error:
# it is saved, and whole.
for command in (["build", "x.npy", "-k", "3", "--report"], ["query", "x.npy", "x.npy", "-k", "3", "--report"], ["convert", "g.npz"]):
    for name in ("read.npz", "read.knng"):
        ours, theirs = os.pipe()
        os.close(ours)
        p = start(command + ["-o", name], stdout=theirs, stderr=theirs)
        os.close(theirs)
        assert p.wait(timeout=60) == 141, (command, p.returncode)
        subprocess.run([knng, "info", name], check=True, stdout=subprocess.DEVNULL)
        os.unlink(name)
        nothing_left()

# While a graph is being saved, however often: an output is the old file or a whole new one. The trial of the output has
# a part as well, which stays empty.
def part_of(p):
    parts = [name for name in os.listdir(".") if name.endswith(".part") and "-%x-" % p.pid in name]
    try:
        return [name for name in parts if os.path.getsize(name) > 1000000]
    except FileNotFoundError:
        return []

def stopped_in_save(command):
    for attempt in range(50):
        p = start(command)
        while p.poll() is None and not part_of(p):
            pass
        p.send_signal(signal.SIGSTOP)
        if p.poll() is None:
            while p.poll() is None and " T " not in open("/proc/%d/stat" % p.pid).read():
                time.sleep(0.001)
            if p.poll() is None and part_of(p):
                return p
            p.send_signal(signal.SIGCONT)
        p.communicate(timeout=60)
    assert False, "never seen while saving: %s" % command

query = ["query", "few.npy", "many.npy", "-k", "100", "-q", "-o"]
subprocess.run([knng] + query + ["large.knng"], check=True)
before = sorted(before + ["large.knng"])
each = [(number,) for number in enders + (signal.SIGPIPE,)]
several = [(signal.SIGINT,) * 3, enders]
for command, name, many in ((query, "s.npz", each + several), (query, "s.knng", each + several),
                            (["convert", "large.knng", "-q", "-o"], "s.npz", each[:1] + several)):
    shutil.copy("g.npz", name)
    for numbers in many:
        p = stopped_in_save(command + [name])
        for number in numbers:
            p.send_signal(number)
        p.send_signal(signal.SIGCONT)
        out, err = p.communicate(timeout=120)
        assert p.returncode - 128 in numbers, (numbers, p.returncode, err)
        assert (out, err) == (b"", b"" if p.returncode == 141 else b"knng: interrupted\n"), (out, err)
        nothing_left(name)
        subprocess.run([knng, "info", name], check=True, stdout=subprocess.DEVNULL)
    os.unlink(name)

# At any time of a short run, the trial of the output and its loading of libraries included.
random.seed(11)
for attempt in range(80):
    number = random.choice(enders + (signal.SIGPIPE,))
    p = start(["build", "x.npy", "-k", "3", "-o", random.choice(("s.npz", "s.knng")), "-q"])
    time.sleep(random.random() * 0.04)
    p.send_signal(number)
    out, err = p.communicate(timeout=60)
    # Before the first line of the program the signal itself ends the process.
    assert p.returncode in (0, -number, 128 + number), (number, p.returncode, err)
    nothing_left("s.npz", "s.knng")
    if p.returncode == 0:
        assert err == b"", err

# A file beyond the limit of the process is an error as others are.
def small_files():
    defaults()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
for name in ("f.npz", "f.knng"):
    p = start(["query", "few.npy", "many.npy", "-k", "10", "-o", name, "-q"], preexec_fn=small_files)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 4 and b"knng: cannot write '%s': File too large" % name.encode() in err, (p.returncode, err)
    nothing_left("s.npz", "s.knng")
PY
"$python" signals.py "$knng" || die "signals.py"
