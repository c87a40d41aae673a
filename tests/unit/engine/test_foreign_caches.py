"""A cache folder left by another user or an earlier run: it never does harm.

Each process is a new one, in which a small plan is wrong: its graph is kept for a report. It writes
its result to stdout, and one line about the graph to stderr.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = """
import json
import numpy as np
import pinnace as tf
from pinnace.engine import rejections
from pinnace.engine.codegen.small_plans import SmallPlan

run = SmallPlan.run
SmallPlan.run = lambda *given, **options: tuple(one + 1 for one in run(*given, **options))
x = tf.constant(np.arange(12, dtype=np.float32).reshape(3, 4) / 8)
small = tf.function(lambda x: tf.sigmoid(x * 0.5) * tf.tanh(x + 1.0) + tf.reduce_sum(x))
found = [small(x).numpy().tolist() for _ in range(8)]
print(json.dumps([found, rejections.count()]))
"""
OTHER_VERSION = """
from pinnace.framework import versions
versions.VERSION = "0.0.1"
"""
# The superuser may write anywhere, until it drops its capabilities.
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
WANTED = "did not agree with its plan and is not used, the answers are the plan's"
NOT_KEPT = "(there is no cache folder to keep the graph)"


@pytest.fixture
def cache() -> Iterator[Path]:
    """A folder that other users can access."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def process(cache: Path | str, before: str = "") -> str:
    """The line that the program prints after this code; its results are the plan's."""
    settings = {"PINNACE_CACHE": str(cache), "PINNACE_TIER": "auto", "PINNACE_CHECK": "1"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        program = Path(folder) / "program.py"
        program.write_text(before + PROGRAM)
        done = subprocess.run(
            [sys.executable, str(program)],
            env={**os.environ, **settings, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    found, rejected = json.loads(done.stdout)
    assert rejected == 1
    x = np.arange(12).reshape(3, 4) / 8
    wanted = np.tanh(x + 1) / (1 + np.exp(-0.5 * x)) + x.sum()
    for one in found:
        # Sums of numbers up to 9, in float32.
        np.testing.assert_allclose(one, wanted, rtol=1e-5)
    (line,) = done.stderr.splitlines()
    assert WANTED in line
    return line


def kept(line: str) -> Path:
    """The file that a line names: it contains the whole graph."""
    path = Path(line.split(" and send ")[1])
    text = path.read_text()
    assert "small plan: " in text
    for op in ("Sigmoid", "Tanh", "Sum"):
        assert f"{op}(" in text
    return path


def test_it_is_kept_once(cache: Path) -> None:
    paths = {kept(process(cache)) for _ in range(2)}
    assert set((cache / "rejected").iterdir()) == paths
    assert len(paths) == 1


def test_another_version_wrote(cache: Path) -> None:
    """Files of version 0.1 are neither read nor changed."""
    old = cache / "kernels" / "of another version.kernel"
    old.parent.mkdir()
    old.write_bytes(b"machine code")
    first = kept(process(cache, OTHER_VERSION))
    content = first.read_bytes()
    second = kept(process(cache))
    assert first != second
    assert first.read_bytes() == content
    assert old.read_bytes() == b"machine code"
    assert sorted(one.name for one in cache.iterdir()) == ["kernels", "rejected"]


DAMAGES = {
    "cut": lambda content: content[: len(content) // 2],
    "other bytes": lambda content: bytes(one ^ 0x55 for one in content),
    "empty": lambda _: b"",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_files_are_damaged(damage: str, cache: Path) -> None:
    path = kept(process(cache))
    content = path.read_bytes()
    path.write_bytes(DAMAGES[damage](content))
    assert kept(process(cache)) == path
    assert path.read_bytes() == content


@pytest.mark.skipif(sys.platform != "linux", reason="the superuser's capabilities are Linux's")
@pytest.mark.parametrize("place", [".", "rejected"])
def test_the_folder_is_read_only(place: str, cache: Path) -> None:
    folder = cache / place
    folder.mkdir(exist_ok=True)
    folder.chmod(0o555)
    assert NOT_KEPT in process(cache, PLAIN_USER)
    assert not list(folder.iterdir())
    folder.chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs the rights of POSIX")
def test_a_folder_that_others_may_write_to_is_not_used(cache: Path) -> None:
    folder = cache / "rejected"
    folder.mkdir()
    folder.chmod(0o777)
    assert NOT_KEPT in process(cache)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("place", [".", "rejected"])
def test_a_file_is_in_the_place_of_the_folder(place: str, cache: Path) -> None:
    file = cache / "file" if place == "." else cache / "rejected"
    file.write_text("mine")
    assert NOT_KEPT in process(file if place == "." else cache)
    assert file.read_text() == "mine"


def test_there_is_no_folder() -> None:
    assert NOT_KEPT in process("")


@pytest.mark.parametrize("bytes_left", [0, 500])
def test_the_disk_is_full(bytes_left: int, cache: Path) -> None:
    """File sizes are limited: no partial file is left."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes_left}, {bytes_left}))\n"
    for _ in range(2):
        assert NOT_KEPT in process(cache, f"{NO_SPACE}{limit}")
    assert not [one for one in cache.rglob("*") if one.is_file()]
    kept(process(cache))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="mounts a small file system")
def test_the_file_system_is_full(tmp_path: Path) -> None:
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
        left = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
        (small / "full").write_bytes(bytes(left))
        for _ in range(2):
            assert NOT_KEPT in process(small)
        (small / "full").unlink()
        kept(process(small))
    finally:
        subprocess.run(["umount", str(small)], check=True)
