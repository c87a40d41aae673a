"""A cache folder that somebody else, or another day, has left: it may help, and never hurts.

Each process is a fresh one. It writes what it answered to stdout and must write nothing to stderr.
What is uninstalled is really not there: the second process sees links to all installed packages but
some.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("numba")

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = """
import json, sys
import numpy as np
import pinnace as tf
from pinnace.engine import rejections
from pinnace.engine.build import plan_of
from pinnace.framework.context import compiling

scale = tf.Variable(np.linspace(-1, 1, 512).astype(np.float32))

@tf.function(input_signature=[tf.TensorSpec([None, 512], tf.float32)])
def region(x):
    return tf.tanh(x * scale + 0.25) * tf.exp(-x)

@tf.function
def small(x):
    return tf.sigmoid(x * 0.5) * tf.tanh(x + 1.0) + tf.reduce_sum(x, axis=1, keepdims=True)

def given(rows, columns):
    return tf.constant(np.random.default_rng(rows).standard_normal((rows, columns)), tf.float32)

found = []
for function, x in [(region, given(64, 512)), (region, given(300, 512)), (small, given(3, 4))]:
    plan = plan_of(function.get_concrete_function(x).graph)
    for number in range(600):
        with compiling(True):
            y = function(x)
        if number > 20 and plan.tiers.is_settled():
            break
    found += [float(y.numpy().sum()), float(np.abs(y.numpy()).max())]
graphs = [region.get_concrete_function().graph, small.get_concrete_function(x).graph]
forms = [one for graph in graphs for one in plan_of(graph).tiers._tier.prepared.values() if one]
kinds = {"small plan" if one.small else "regions" if one.layout.regions else "" for one in forms}
print(json.dumps([found, rejections.count(), sorted(kinds)]))
"""
NO_LIBRARY = """
import pathlib
from pinnace.engine.ahead import reading
reading.INSTALLED = pathlib.Path("kernels of another processor, which are not there")
"""
OTHER_VERSION = f"""{NO_LIBRARY}
from pinnace.framework import versions
versions.VERSION = "0.0.1"
from pinnace.engine.ahead import table
table.version = lambda: "of another version"
"""
# The superuser may write anywhere, until its capabilities are gone.
PLAIN_USER = """
import ctypes, os
if os.geteuid() == 0:
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0
"""
NO_SPACE = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
"""


@pytest.fixture
def cache() -> Iterator[Path]:
    """A folder that other users may reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def filled() -> Iterator[Path]:
    """A folder with the kernels of the program, made where there is no library."""
    folder = Path(tempfile.mkdtemp())
    process(folder, NO_LIBRARY)
    assert [one for one in folder.rglob("*") if one.name.endswith(".kernel")]
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def full_cache(cache: Path, filled: Path) -> Path:
    """The same folder for one test, which other users may reach."""
    shutil.copytree(filled, cache, dirs_exist_ok=True)
    cache.chmod(0o755)
    return cache


def process(cache: Path, before: str = "", packages: Path | None = None) -> list[Any]:
    """What the program says after this code.

    Args:
        cache: the cache folder.
        before: runs first.
        packages: what is installed; None is what is.
    """
    code, options = before + PROGRAM, []
    if packages is not None:
        code = f"import site; site.addsitedir({str(packages)!r})\n{code}"
        options = ["-I", "-S"]
    environment = {**os.environ, "PINNACE_CACHE": str(cache)}
    environment |= {"PINNACE_TIER": "auto", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        program = Path(folder) / "program.py"
        program.write_text(code)
        done = subprocess.run(
            [sys.executable, *options, str(program)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    said: list[Any] = json.loads(done.stdout)
    return said


@pytest.fixture(scope="module")
def wanted() -> list[float]:
    """What the plan answers."""
    with tempfile.TemporaryDirectory() as folder:
        before = "from pinnace.framework import config\nconfig.settings.fusion = False\n"
        found: list[float] = process(Path(folder), before)[0]
        return found


def check(said: list[Any], wanted: list[float]) -> None:
    """No answer is another, and nothing was rejected."""
    found, rejected, _ = said
    # Sums of thousands of float32 numbers in two orders.
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert rejected == 0


def without(folder: Path, *names: str) -> Path:
    """Links to all installed packages but these."""
    folder.mkdir()
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if not one.name.startswith(names):
            (folder / one.name).symlink_to(one)
    return folder


@pytest.mark.parametrize(
    ("names", "before"),
    [
        (("numba", "llvmlite"), ""),
        (("numba",), NO_LIBRARY),
        (("llvmlite",), NO_LIBRARY),
    ],
    ids=["library", "cache without Numba", "cache without LLVM"],
)
def test_numba_is_uninstalled(
    names: tuple[str, ...], before: str, full_cache: Path, tmp_path: Path, wanted: list[float]
) -> None:
    packages = without(tmp_path / "packages", *names)
    for _ in range(2):
        check(process(full_cache, before, packages), wanted)
    said = process(full_cache, before)  # it is installed again
    check(said, wanted)
    assert said[2] == ["regions", "small plan"]


def test_another_version_wrote(cache: Path, wanted: list[float]) -> None:
    check(process(cache, OTHER_VERSION), wanted)
    check(process(cache), wanted)
    check(process(cache, OTHER_VERSION), wanted)


DAMAGES = {
    "cut": lambda content: content[: len(content) // 2],
    "other bytes": lambda content: bytes(one ^ 0x55 for one in content),
    "one bit": lambda content: content[:40] + bytes([content[40] ^ 1]) + content[41:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_files_are_damaged(damage: str, full_cache: Path, wanted: list[float]) -> None:
    for path in [one for one in full_cache.rglob("*") if one.is_file()]:
        path.write_bytes(DAMAGES[damage](path.read_bytes()))
    check(process(full_cache, NO_LIBRARY), wanted)


@pytest.mark.skipif(sys.platform != "linux", reason="the superuser's capabilities are Linux's")
def test_the_folder_is_read_only(cache: Path, filled: Path, wanted: list[float]) -> None:
    """What is there is used, nothing is written: of an empty folder, and of a full one."""
    before = f"{PLAIN_USER}{NO_LIBRARY}"
    cache.chmod(0o555)
    check(process(cache, before), wanted)
    assert not list(cache.iterdir())
    cache.chmod(0o755)
    shutil.copytree(filled, cache, dirs_exist_ok=True)
    files = sorted(cache.rglob("*"))
    for path in (cache, *files):
        path.chmod(0o555 if path.is_dir() else 0o444)
    check(process(cache, before), wanted)
    assert sorted(cache.rglob("*")) == files
    for path in (cache, *files):
        path.chmod(0o755)


@pytest.mark.parametrize("bytes_left", [0, 5_000])
def test_the_disk_is_full(bytes_left: int, cache: Path, wanted: list[float]) -> None:
    """Files may be no longer than this: no process before has filled it, or one has."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes_left}, {bytes_left}))\n"
    full = f"{NO_LIBRARY}{NO_SPACE}{limit}"
    for _ in range(2):
        check(process(cache, full), wanted)
    assert not [one for one in cache.rglob("*") if one.name.endswith(".kernel")]
    assert all(one.stat().st_size <= bytes_left for one in cache.rglob("*") if one.is_file())
    check(process(cache, NO_LIBRARY), wanted)
    check(process(cache, full), wanted)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="mounts a small file system")
def test_the_file_system_is_full(tmp_path: Path, wanted: list[float]) -> None:
    small = tmp_path / "small"
    small.mkdir(mode=0o700)
    mount = shutil.which("mount")
    options = ["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(small)]
    if (
        mount is None
        or subprocess.run([mount, *options], check=False, capture_output=True).returncode
    ):
        pytest.skip("no file system can be mounted here")
    try:
        for _ in range(2):
            check(process(small, NO_LIBRARY), wanted)
    finally:
        subprocess.run(["umount", str(small)], check=True)
