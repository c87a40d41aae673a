"""Without a library for this machine programs give the plan's results, and one line says why."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine.ahead import reading, table
from pinnace.engine.codegen import kernels
from pinnace.engine.standing import standing_of
from pinnace.framework import config
from support.command_line import pinnace
from tests.unit.engine.test_poison import MODELS, model_of
from tests.unit.engine.test_tiers import PROGRAMS, network, normal, region, whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def nothing(folder: Path) -> None:
    shutil.rmtree(folder)


def damaged(folder: Path) -> None:
    """Change a byte of each library."""
    for path in folder.iterdir():
        if path.name != table.FILE:
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / table.FILE).read_bytes())
    change(content)
    (folder / table.FILE).write_text(json.dumps(content))


def another_version(folder: Path) -> None:
    changed(folder, lambda one: one.update(kernels="0"))


def another_processor(folder: Path) -> None:
    changed(folder, lambda one: [lib.update(requires=["never"]) for lib in one["libraries"]])


REASONS = {
    "nothing": (nothing, "there is no library"),
    "damaged": (damaged, "is damaged"),
    "another version": (another_version, "made by another version of pinnace"),
    "another processor": (another_processor, "needs never"),
}


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The library of the installation, damaged in each way."""
    made = {}
    for name, (spoil, _) in REASONS.items():
        made[name] = tmp_path_factory.mktemp("spoilt") / "library"
        shutil.copytree(reading.INSTALLED, made[name])
        spoil(made[name])
    return made


@pytest.fixture(params=REASONS)
def reason(
    request: pytest.FixtureRequest, spoilt: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> str:
    """Make this process find no usable library; returns its message."""
    leave(spoilt[request.param], monkeypatch)
    return REASONS[request.param][1]


@pytest.fixture
def _none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(tmp_path / "nothing", monkeypatch)


def leave(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this folder that of the library, and let the process search again."""
    monkeypatch.setattr(reading, "INSTALLED", folder)
    monkeypatch.setattr(reading, "_looked", None)
    monkeypatch.setattr(kernels, "_functions", None)
    monkeypatch.setattr(config.settings, "tier", "auto")


def program_of(kind: str) -> tuple[Callable[..., Any], list[Any]]:
    if kind in PROGRAMS:
        program, draw = PROGRAMS[kind]
        return program, [tf.constant(one) for one in draw()]
    model, x = model_of(kind)
    return (lambda x: model(x, training=False)), [tf.constant(x)]


def last_of(program: Callable[..., Any], given: list[Any], tier: Any, calls: int = 6) -> Any:
    """The result of the last of some calls in a tier, when memory is reused."""
    config.set_tier(tier)
    function = tf.function(program)
    for _ in range(calls):
        found = function(*given).numpy()
    config.set_tier("auto")
    return found


@pytest.mark.usefixtures("_none")
@pytest.mark.parametrize("kind", [*PROGRAMS, *MODELS])
@pytest.mark.parametrize("tier", ["auto", "compiled"])
def test_answers_are_the_plans_bit_for_bit(
    kind: str, tier: Any, caplog: pytest.LogCaptureFixture
) -> None:
    program, given = program_of(kind)
    wanted = last_of(program, given, "plan")
    with caplog.at_level(logging.WARNING, "pinnace"):
        found = last_of(program, given, tier)
    np.testing.assert_array_equal(found, wanted)
    (record,) = caplog.records
    assert "no machine code in this process, NumPy's kernels answer" in record.getMessage()


@pytest.mark.usefixtures("_none")
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
def test_training_is_the_plans(optimizer: str, caplog: pytest.LogCaptureFixture) -> None:
    model, x = model_of("images")
    first, y = model.get_weights(), np.arange(8) % 5

    def trained(tier: Any) -> list[Any]:
        config.set_tier(tier)
        model.set_weights(first)
        rule = getattr(tf.keras.optimizers, optimizer)(0.05)

        @tf.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                found = model(x, training=True)
                loss = tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(y, found))
            weights = model.trainable_variables
            rule.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            return loss

        losses = [float(step(tf.constant(x))) for _ in range(6)]
        return [np.array(losses), *model.get_weights()]

    wanted = trained("plan")
    with caplog.at_level(logging.WARNING, "pinnace"):
        found = trained("auto")
    for one, other in zip(found, wanted, strict=True):
        # The first calls may use several BLAS threads while they are short.
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    assert len(caplog.records) == 1


def test_it_is_told_once_and_wherever_somebody_asks(
    reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The reason is in the log, in `show --machine`, in a profile, and in a plan's standing."""
    x, product = tf.constant(normal(64, 512)), tf.constant(whole(256, 128))
    function, other = tf.function(region), tf.function(network)
    with caplog.at_level(logging.WARNING, "pinnace"):
        for _ in range(6):
            function(x)
            other(product)
            tf.nn.max_pool2d(tf.ones([1, 64, 64, 8]), 2, 2, "VALID")
    (record,) = caplog.records
    assert reason in record.getMessage()
    assert not kernels.are_there()
    told = json.loads(pinnace("show", "--machine", "--json").out)
    assert (told["library"], told["kernels"]) == (None, 0)
    assert reason in told["reason"]
    assert reason in pinnace("show", "--machine").out
    profile = tf.profiler.profile(function, x)
    assert any(reason in note for note in profile.notes())
    plan = function.get_concrete_function(x).plan
    arrays = [x.numpy()]
    standing = standing_of(plan, arrays, plan.tiers.lease(arrays))
    assert standing.tier == "workspace"
    assert standing.reason.startswith("no machine code: ")
    assert reason in standing.reason
    assert len(caplog.records) == 1


PROGRAM = """
import pathlib, sys
from pinnace.engine.ahead import reading
reading.INSTALLED = pathlib.Path(sys.argv[1])
import numpy as np
import pinnace as tf
function = tf.function(lambda x: tf.tanh(x * 2.0) + tf.exp(-x))
x = np.linspace(-3, 3, 64 * 512, dtype=np.float32).reshape(64, 512)
for _ in range(6):
    found = function(x).numpy()
np.testing.assert_allclose(found, np.tanh(x * 2.0) + np.exp(-x), rtol=1e-5)
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
"""


@pytest.mark.parametrize("name", REASONS)
def test_a_process_says_one_line(name: str, spoilt: dict[str, Path], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(spoilt[name])],
        env={**os.environ, "PINNACE_CACHE": str(tmp_path), "PINNACE_TIER": "auto"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("no machine code in this process, NumPy's kernels answer: ")
    assert REASONS[name][1] in line
    assert not list(tmp_path.iterdir())
