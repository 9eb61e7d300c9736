"""Ctrl-C and other signals end a call at once and arrive as exceptions; progress; the log."""
import asyncio
import gc
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref
from contextlib import redirect_stderr
from unittest import mock

import numpy as np

import knng
from knng import _control
from support import main, need, points

tqdm = need("tqdm").tqdm
LONG = np.random.default_rng(1).integers(0, 256, (200000, 50), np.uint8)
#: Seconds on a busy machine; on an idle one it takes a tenth of one.
LIMIT = 5


def build(**options):
    return knng.graph(LONG, 10, metric="manhattan", engine="direct", device="cpu", threads=2, **options)


class Signals(unittest.TestCase):
    def stopped(self, kind, moment, number=signal.SIGINT, **options):
        """Sends a signal some time after the beginning, and says what was raised."""
        sent = []

        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), number)

        before = {n: signal.getsignal(n) for n in signal.valid_signals()}
        timer = threading.Timer(moment, send)
        timer.start()
        with self.assertRaises(kind) as caught:
            build(**options)
        self.seconds = time.monotonic() - sent[0]
        self.assertLess(self.seconds, LIMIT)
        timer.join()
        self.assertEqual({n: signal.getsignal(n) for n in signal.valid_signals()}, before)
        return caught.exception

    def test_ctrl_c_at_any_moment(self):
        seconds = []
        for moment in [0.01, 0.05, 0.2, 0.5, 1.1]:
            self.stopped(KeyboardInterrupt, moment)
            seconds.append(self.seconds)
        self.assertLess(min(seconds), 1)  # whatever else the machine does meanwhile
        self.assertEqual(knng.graph(points(20, 3), 2).shape, (20, 20))

    def test_ctrl_c_with_progress(self):
        self.stopped(KeyboardInterrupt, 0.5, progress=lambda *_: None)

    def test_nothing_is_kept_of_a_call_that_was_stopped(self):
        x = LONG[:, :40].copy()
        kept = weakref.ref(x)
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:  # assertRaises() would clear the frames that keep what they have
            knng.graph(x, 10, metric="manhattan", engine="direct", device="cpu", threads=2)
            self.fail("not stopped")
        except KeyboardInterrupt:
            pass
        timer.join()
        del x
        gc.collect()
        self.assertIsNone(kept())

    def test_daemon_threads_at_the_end_of_the_interpreter(self):
        program = """
import threading, time, numpy as np, knng
x = np.random.default_rng(1).integers(0, 256, (200000, 50), np.uint8)
def call(**options):
    knng.graph(x, 10, metric="manhattan", engine="direct", device="cpu", threads=1, **options)
    print("ended")
threads = [threading.Thread(target=call, daemon=True, kwargs=options) for options in ({}, {"progress": lambda *_: None})]
for thread in threads: thread.start()
time.sleep(0.5)
print(all(thread.is_alive() for thread in threads))
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "True\n", ""))

    def test_handler_that_raises_something_else(self):
        def on_alarm(number, frame):
            raise TimeoutError("too slow")

        before = signal.signal(signal.SIGALRM, on_alarm)
        try:
            self.assertEqual(str(self.stopped(TimeoutError, 0.3, signal.SIGALRM)), "too slow")
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_handler_that_raises_nothing_disturbs_nothing(self):
        seen = []
        before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        x = points(6000, 64)
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
        try:
            timer.start()
            knng.graph(x, 5, metric="manhattan", engine="direct", threads=1)
            timer.join()
        finally:
            signal.signal(signal.SIGUSR1, before)
        self.assertEqual(seen, [1])

    def test_handler_of_an_event_loop(self):
        """asyncio's only takes notice of the first Ctrl-C."""
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            self.stopped(KeyboardInterrupt, 0.3)
        finally:
            signal.signal(signal.SIGINT, before)

        async def work():
            return build()

        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            asyncio.run(work())
        timer.join()

    def test_ignored_signals_stay_ignored(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            knng.graph(points(6000, 64), 5, metric="manhattan", engine="direct", threads=1)
            timer.join()
        finally:
            signal.signal(signal.SIGINT, before)

    def test_other_threads_leave_signals_alone(self):
        before = signal.getsignal(signal.SIGINT)
        started, end, raised = threading.Event(), threading.Event(), []

        def look(*_):
            started.set()
            return end.is_set()

        def work():
            try:
                build(progress=look)
            except knng.CancelledError as error:
                raised.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        started.wait()
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            time.sleep(1)
        end.set()
        thread.join()
        self.assertEqual(len(raised), 1)

    def test_a_script_says_nothing_else(self):
        program = ("import knng, numpy as np\n"
                   "x = np.random.default_rng(1).integers(0, 256, (200000, 50), np.uint8)\n"
                   "print('building', flush=True)\n"
                   "try:\n    knng.graph(x, 10, metric='manhattan', engine='direct', device='cpu')\n"
                   "except KeyboardInterrupt:\n    print('stopped')\n")
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as script:
            self.assertEqual(script.stdout.readline(), "building\n")
            time.sleep(0.4)
            script.send_signal(signal.SIGINT)
            self.assertEqual(script.communicate(timeout=LIMIT), ("stopped\n", ""))


class Progress(unittest.TestCase):
    def test_function(self):
        seen = []
        x = points(9000, 64)
        g = knng.graph(x, 5, metric="manhattan", engine="direct", threads=1,
                       progress=lambda *report: seen.append(report))
        self.assertTrue(seen)
        for stage, done, total in seen:
            self.assertIsInstance(stage, str)
            self.assertLessEqual(0, done)
            self.assertLessEqual(done, total)
        self.assertEqual(g.shape, (9000, 9000))

    def test_it_stops_the_call(self):
        began = time.monotonic()
        with self.assertRaises(knng.CancelledError) as caught:
            build(progress=lambda *_: True)
        self.assertEqual(caught.exception.code, -8)
        self.assertLess(time.monotonic() - began, LIMIT)

    def test_what_it_raises_arrives(self):
        def broken(*_):
            raise LookupError("broken")

        with self.assertRaisesRegex(LookupError, "broken"):
            build(progress=broken)

    def test_bars(self):
        calls = iter(range(1000))

        class Bar(tqdm):
            made = []

            def __init__(self, *arguments, **options):
                Bar.made.append(self)
                super().__init__(*arguments, file=io.StringIO(), **options)

            def update(self, n=1):
                if next(calls) > 3:
                    raise StopAsyncIteration
                return super().update(n)

        with self.assertRaises(StopAsyncIteration):
            build(progress=Bar)
        self.assertTrue(all(bar.disable for bar in Bar.made))  # closed
        self.assertIn("%", Bar.made[0].fp.getvalue())
        for hidden in [{}, {"tqdm.auto": None, "tqdm": None}]:
            said = io.StringIO()
            with redirect_stderr(said), mock.patch.dict(sys.modules, hidden):
                knng.graph(points(9000, 64), 5, metric="manhattan", engine="direct", threads=1, progress=True)
            self.assertIn("%", said.getvalue())
            self.assertTrue(said.getvalue().endswith("\n"))
            last = said.getvalue().rstrip("\n").splitlines()[-1].split("\r")[-1]  # a stage that is over is shown so
            self.assertRegex(last, "100 ?%")

    def test_log(self):
        rows = knng.DataSet(points(60, 5))
        wrong = knng.Graph.from_arrays(rows.graph(4).indices)
        with self.assertLogs("knng", logging.INFO) as log:
            self.assertEqual(rows.check(wrong), 0)
        self.assertIn("60 rows checked", "".join(log.output))
        with mock.patch.object(_control.logger, "log", side_effect=LookupError("broken")):
            with self.assertRaisesRegex(LookupError, "broken"):
                rows.check(wrong)


if __name__ == "__main__":
    main()
