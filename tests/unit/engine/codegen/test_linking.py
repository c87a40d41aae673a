"""LLVM is imported late, by one thread at a time, and forks wait for it; loops do without it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# A loop over scalars becomes machine code of its own after its first run of any length.
LOOP = """
import numpy as np
import pinnace as tf
from pinnace.engine.codegen import loops, walks

from pinnace.framework import config
config.set_tier("compiled")
loops._WORTH_S = 1e-9
native = []
compile = walks.Walk.compile

def compiled(self):
    compile(self)
    native.append(self.is_native)

walks.Walk.compile = compiled

def steps(n):
    return tf.while_loop(lambda i, _: i < n, lambda i, x: (i + 1, x * 0.5 + 1.0), [n * 0, 8.0])[1]

def runs():
    function = tf.function(steps, autograph=False)
    return [float(function(tf.constant(n))) for n in (3, 3, 0)]
"""
# A thread is in the middle of its import of LLVM when the program forks.
IMPORTING = """
import importlib.abc, os, sys, threading, time
importing = threading.Event()

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "llvmlite.binding.ffi":
            importing.set()
            time.sleep(0.3)

sys.meta_path.insert(0, Slow())
first = threading.Thread(target=runs)
first.start()
assert importing.wait(60)
child = os.fork()
if not child:
    native.clear()
    os._exit(0 if runs() == [2.75, 2.75, 8.0] and native == [True] else 1)
first.join()
end = time.monotonic() + 20
while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < end:
    time.sleep(0.01)
if not ended[0]:
    os.kill(child, 9)  # it waits for a lock that a thread of its parent held
print(native, "hangs" if not ended[0] else ended[1])
"""
ABSENT = """
import sys
sys.modules["llvmlite"] = None
print(runs(), native)
"""


def said(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOOP + program],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_fork_waits_for_the_import_of_llvm() -> None:
    pytest.importorskip("llvmlite")
    assert said(IMPORTING) == "[True] 0\n"


def test_without_llvm_loops_are_walked() -> None:
    assert said(ABSENT) == "[2.75, 2.75, 8.0] [False]\n"
