"""The library of the installation: made once, used from the first call, refused if damaged."""

from __future__ import annotations

import concurrent.futures
import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pinnace.engine.ahead import installing, processors, reading, table, writing
from pinnace.engine.codegen import general, kernels
from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NAMES = ["adam", "descent"]
FAMILY = processors.family()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two kernels."""
    folder = tmp_path_factory.mktemp("installed") / "library"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(general, "names", lambda: NAMES)
        assert installing.make([FAMILY], folder) is not None
        assert installing.make([FAMILY], folder) is None  # it exists
    return folder


@pytest.fixture
def installed(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy as the library of this process, which has not searched for one yet."""
    shutil.copytree(library, tmp_path / "library")
    monkeypatch.setattr(general, "names", lambda: NAMES)
    monkeypatch.setattr(reading, "INSTALLED", tmp_path / "library")
    monkeypatch.setattr(reading, "_looked", None)
    monkeypatch.setattr(kernels, "_functions", None)
    return tmp_path / "library"


def test_a_kernel_of_the_library_is_there_at_once(installed: Path) -> None:
    assert kernels.are_there()
    var, grad = np.ones(8, np.float32), np.full(8, 0.5, np.float32)
    kernels.function("descent")(0, 8, var, grad, 0.5)
    assert var.tolist() == [0.75] * 8
    assert kernels.find_kernel("descent") is kernels.function("descent")
    assert kernels.find_kernel("momentum") is None
    (note,) = reading.notes()
    assert str(installed) in note


def test_a_table_for_other_kernels_is_made_anew(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(general, "names", lambda: ["momentum"])
    assert installing.make([FAMILY], installed) is not None
    assert kernels.find_kernel("momentum") is not None
    assert kernels.find_kernel("descent") is None


def changed(folder: Path, change: Callable[[Any], object]) -> None:
    content = json.loads((folder / table.FILE).read_bytes())
    change(content)
    (folder / table.FILE).write_text(json.dumps(content))


def damaged(folder: Path) -> None:
    content = bytearray((folder / f"{FAMILY}.so").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / f"{FAMILY}.so").write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (shutil.rmtree, "there is no library"),
        (damaged, ".so is damaged"),
        (lambda folder: (folder / f"{FAMILY}.so").unlink(), "No such file"),
        (lambda folder: (folder / table.FILE).write_bytes(b"{"), "is damaged"),
        (
            lambda folder: changed(folder, lambda one: one.update(kernels="0")),
            "another version of pinnace",
        ),
        (
            lambda folder: changed(
                folder, lambda one: one["libraries"][0].update(requires=["never"])
            ),
            " needs never",
        ),
    ],
)
def test_a_library_that_is_not_as_it_was_made_is_not_used(
    installed: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object], reason: str
) -> None:
    """The library is searched for once, and the result is logged once."""
    spoil(installed)
    with caplog.at_level(logging.WARNING, "pinnace"):
        for _ in range(3):
            assert not kernels.are_there()
            assert kernels.find_kernel("descent") is None
    (record,) = caplog.records
    assert reason in record.getMessage()
    assert reading.notes() == [record.getMessage()]


@pytest.mark.usefixtures("installed")
def test_many_threads_that_ask_at_once_are_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(reading, "INSTALLED", tmp_path / "nothing")
    with (
        caplog.at_level(logging.WARNING, "pinnace"),
        concurrent.futures.ThreadPoolExecutor(8) as pool,
    ):
        assert not any(pool.map(lambda _: kernels.are_there(), range(64)))
    assert len(caplog.records) == 1


@pytest.mark.parametrize("missing", ["numba", "linker"])
def test_what_is_missing_is_told_and_no_error(
    missing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if missing == "numba":
        found = {"numba": None, "pinnace.engine.ahead.sources": object()}
        monkeypatch.setattr(importlib.util, "find_spec", found.get)
        wanted = "Numba is not installed", "pip install numba"
    else:
        monkeypatch.setenv("CC", "no-such-compiler")
        wanted = "there is no C compiler: no-such-compiler", "apt-get install gcc"
    folder = str(tmp_path / "library")
    monkeypatch.setattr(sys, "argv", ["installing", "--folder", folder])
    assert installing.main() == 0
    told = capsys.readouterr().out
    assert all(one in told for one in wanted)
    assert "with the same answers" in told
    monkeypatch.setattr(sys, "argv", ["installing", "--folder", folder, "--must"])
    assert installing.main() == 1
    assert not (tmp_path / "library").exists()


def test_a_processor_that_is_not_known_is_told() -> None:
    with pytest.raises(InvalidArgumentError, match="there is no processor 'z80'"):
        writing.chosen(["z80"])


PROGRAM = """
import sys
import numpy as np
import pinnace as tf
from pinnace.engine.ahead import reading
tf.keras.utils.set_random_seed(3)
layers = tf.keras.layers
model = tf.keras.Sequential([
    tf.keras.Input([24, 24, 8]),
    *[layers.Conv2D(32, 3, padding="same", activation="relu") for _ in range(3)],
    layers.GlobalAveragePooling2D(), layers.Dense(10),
])
call = tf.function(lambda x: model(x))
x = tf.constant(np.random.default_rng(0).normal(size=(2, 24, 24, 8)).astype("f4"))
first = call(x).numpy()
for _ in range(4):
    last = call(x).numpy()
np.testing.assert_allclose(last, first, rtol=1e-4, atol=1e-5)
from pinnace.engine.build import plan_of
from pinnace.engine.networks.region import Network
plan = call.get_concrete_function(x).plan
(prepared,) = plan.tiers._tier.prepared.values()
regions = [one for one in prepared.layout.regions.values() if one is not None]
assert regions and all(isinstance(one, Network) for one in regions), regions
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
"""


@pytest.mark.skipif(
    not (reading.INSTALLED / table.FILE).is_file(), reason="needs the library: make setup"
)
def test_networks_run_from_the_third_call_without_a_compiler(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PINNACE_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())
