"""Where compiled kernels are kept, and what happens when there is nothing to compile with."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pinnace.engine.codegen import compiler, kept
from pinnace.framework import config

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """# {mark}
@njit([void(int64, WRITTEN)], cache=True)
def kernel(n, y):
    for c in range(n):
        y[c] = np.float32(c)
"""
ABSENT = """
import sys
sys.modules["numba"] = None
import os
os.environ["PINNACE_CACHE"] = ""
import numpy as np
import pinnace as tf
import pathlib
from pinnace.engine import tiers
from pinnace.engine.ahead import reading
from pinnace.engine.codegen import compiler, kept
reading.INSTALLED = pathlib.Path("no library, which would have the kernel")
tiers._HOT_S = 0.0
x = np.linspace(-3, 3, 64 * 512, dtype=np.float32).reshape(64, 512)
f = tf.function(lambda x: tf.tanh(x * 2.0) + tf.exp(-x))
for _ in range(6):
    found = f(x).numpy()
for kernel in compiler._kernels.values():
    kernel.done.wait(60)
found = f(x).numpy()
assert compiler.failure is not None, "numba was found"
np.testing.assert_allclose(found, np.tanh(x * 2.0) + np.exp(-x), rtol=1e-5)
"""


WARNING = """
import os
import warnings
os.environ["PINNACE_CACHE"] = ""
from pinnace.engine.codegen import compiler

def state():
    return warnings.filters[:], warnings.showwarning, warnings._showwarnmsg_impl

before = state()
text = "# {}\\n@njit([void(ROWS, WRITTEN)])\\ndef kernel(x, y):\\n    y[0] = exp(x[0, 0])\\n"
kernels = [compiler.request(text.format(number)) for number in range(3)]
lost = 0
while not all(kernel.done.is_set() for kernel in kernels):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("mine")
    lost += len(found) != 1
assert kernels[0].function is not None, compiler.failure
assert lost == 0, f"{lost} warnings of this program went elsewhere"
assert state() == before
"""


FORK = """
import os, sys
os.environ["PINNACE_CACHE"] = ""
import numpy as np
from pinnace.engine.codegen import compiler
text = "# {}\\n@njit([void(int64, WRITTEN)])\\ndef kernel(n, y):\\n    y[0] = n\\n"

def made(number):
    kernel = compiler.request(text.format(number))
    assert kernel.done.wait(120)
    y = np.zeros(1, np.float32)
    kernel.function(number, y)
    return y[0] == number

assert made(1)
if not os.fork():
    ok = made(2)
    os.write(1, b"child " if ok else b"wrong ")
    compiler._compiler.kill()
    os._exit(0)
os.wait()
os.write(1, b"parent " if made(3) else b"wrong ")
"""
# The compiler's thread is in the middle of its import of LLVM when the program forks.
IMPORTING = """
import importlib.abc, os, sys, threading, time
os.environ["PINNACE_CACHE"] = ""
from pinnace.engine.codegen import compiler
importing = threading.Event()

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "llvmlite.binding.ffi":
            importing.set()
            time.sleep(0.3)

sys.meta_path.insert(0, Slow())
text = "# {}\\n@njit([void(int64, WRITTEN)])\\ndef kernel(n, y):\\n    y[0] = n\\n"
first = compiler.request(text.format(1))
assert importing.wait(60)
child = os.fork()
kernel = compiler.request(text.format(2))
ok = kernel.done.wait(120) and kernel.function is not None
if not child:
    compiler._compiler.kill()
    os._exit(0 if ok else 1)
assert ok and first.done.wait(120) and first.function is not None
print(os.waitpid(child, 0)[1])
"""
LEAVING = """
import os, time
os.environ["PINNACE_CACHE"] = ""
from pinnace.engine.codegen import compiler
compiler.request("import time\\ntime.sleep(60)\\n")
while compiler._compiler._process is None:
    time.sleep(0.01)
print(time.time(), compiler._compiler._process._process.pid)
"""


def test_warnings_of_the_program_reach_it_while_kernels_are_compiled() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WARNING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def made(mark: str) -> compiler.Kernel:
    kernel = compiler.request(TEXT.format(mark=mark))
    assert kernel.done.wait(120)
    return kernel


def works(kernel: compiler.Kernel) -> bool:
    y = np.zeros(5, np.float32)
    assert kernel.function is not None, (compiler.failure, compiler.errors)
    kernel.function(5, y)
    return y.tolist() == [0, 1, 2, 3, 4]


def test_a_kernel_is_kept_in_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "cache", tmp_path)
    assert works(made("kept"))
    files = [file.suffix for file in tmp_path.rglob("*") if file.is_file()]
    assert files == [".kernel"]


def forgotten(kernel: compiler.Kernel) -> None:
    """As in a process that has not asked for it."""
    compiler._kernels.pop(kernel.text)


def test_a_kept_kernel_is_there_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "cache", tmp_path)
    first = made("there at once")
    assert first.is_new
    forgotten(first)
    again = compiler.request(first.text)
    assert again.done.is_set()
    assert not again.is_new
    assert again.bytes == first.bytes > 0
    assert works(again)


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_file_is_compiled_anew(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "cache", tmp_path)
    first = made(f"damaged: {damage}")
    (file,) = tmp_path.rglob("*.kernel")
    content = file.read_bytes()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    file.write_bytes({"cut": content[:middle], "changed": changed, "empty": b""}[damage])
    forgotten(first)
    again = made(f"damaged: {damage}")
    assert again.is_new
    assert works(again)
    (file,) = tmp_path.rglob("*.kernel")
    assert len(file.read_bytes()) == again.bytes


def test_a_kept_kernel_does_not_wait_for_one_that_is_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "cache", tmp_path)
    first = made("behind another")
    forgotten(first)
    slow = compiler.request(TEXT.format(mark="slow"))
    behind = compiler.request(first.text)
    assert behind.done.is_set()
    assert works(behind)
    assert slow.done.wait(120)
    assert works(slow)


def test_a_process_that_was_ended_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    assert works(made("before"))
    process = compiler._compiler._process
    assert process is not None
    process._process.kill()
    assert works(made("behind"))
    assert compiler._compiler._process is not process


def test_a_text_that_ends_the_process_is_refused_and_others_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    text = "import os\nos._exit(7)\n" + TEXT.format(mark="ends it")
    kernel = compiler.request(text)
    assert kernel.done.wait(120)
    assert kernel.function is None
    assert "it ended with 7" in compiler.errors.pop(text)
    assert works(made("behind one that ended it"))


def test_the_process_ends_when_nothing_is_asked_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    assert works(made("before a rest"))
    process = compiler._compiler._process
    assert process is not None
    process._process.wait(60)
    assert works(made("behind a rest"))


def test_a_process_that_cannot_be_started_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    monkeypatch.setattr(compiler, "failure", None)
    compiler._compiler.rest()
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    kernel = compiler.request(TEXT.format(mark="no interpreter"))
    assert kernel.done.wait(60)
    assert kernel.function is None
    assert "/no/such/python cannot be started" in (compiler.missing() or "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_forked_process_has_a_compiler_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "child parent "), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_fork_waits_for_the_import_of_llvm() -> None:
    command = [sys.executable, "-c", IMPORTING]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_a_program_ends_at_once_while_a_kernel_is_made() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", LEAVING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    began, process = done.stdout.split()
    assert time.time() - float(began) < 5  # the text takes a minute
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


def test_nothing_is_kept_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    assert works(made("not kept"))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs the rights of POSIX")
def test_a_folder_that_others_may_write_to_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config.settings, "cache", tmp_path)
    folder = kept.folder()
    assert folder is not None
    folder.chmod(0o777)
    assert kept.folder() is None
    assert works(made("elsewhere"))
    assert not list(folder.iterdir())


def test_a_file_in_the_place_of_the_folder_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(config.settings, "cache", tmp_path / "file")
    assert works(made("no folder"))


def test_a_refused_text_has_no_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    text = TEXT.format(mark="refused").replace("np.float32(c)", "no_such_name(c)")
    kernel = compiler.request(text)
    assert kernel.done.wait(120)
    assert kernel.function is None
    assert "no_such_name" in compiler.errors.pop(text)


def test_without_numba_plans_go_on_as_they_are() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ABSENT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
