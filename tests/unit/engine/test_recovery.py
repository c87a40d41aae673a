"""Errors of fast code reach no caller: the plan takes over, permanently, with one log line.

Faults are injected into every form in turn, also beside side effects, which happen once. The
reference is the same function run by the plan.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import layout, rejections, tiers
from pinnace.engine.codegen import loops, recurrences
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.loop_clusters import LoopClusters
from pinnace.engine.codegen.small_plans import SmallPlan
from pinnace.engine.networks.region import Network
from pinnace.framework import config, errors
from tests.unit.engine.test_tiers import PROGRAMS, normal, region

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FAULTS = [
    UnboundLocalError("cannot access local variable 'v743'"),
    KeyError("<pos/transpose:0>"),
    TypeError("a number is no array"),
    ModuleNotFoundError("No module named 'llvmlite'"),
    IndexError("list index out of range"),
    ValueError("cannot reshape\nan array"),
    errors.InternalError("a kernel is missing"),
]


@pytest.fixture(autouse=True)
def hot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Count separately for each test."""
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(config.settings, "cache", tmp_path / "cache")
    monkeypatch.setattr(rejections, "_record", rejections._Record())


class Fault:
    """A method that raises on request, and counts how often."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.error: Exception | None = None
        self.count = 0
        method = getattr(owner, name)

        def failing(*arguments: Any, **options: Any) -> Any:
            if self.error is not None:
                self.count += 1
                raise self.error
            return method(*arguments, **options)

        monkeypatch.setattr(owner, name, failing)


def warm(function: Callable[..., Any], given: list[Any]) -> None:
    for _ in range(8):
        function(*given)


def by_plan(function: Callable[..., Any], given: list[Any]) -> Any:
    config.set_tier("plan")
    found = function(*given)
    config.set_tier("auto")
    return found


# The code that runs a hot program.
FORMS: dict[str, tuple[str, Any, str]] = {
    "region": ("region", Fused, "__call__"),
    "network": ("network", Network, "__call__"),
    "workspace": ("region", tiers.Workspace, "run"),
    "lease": ("region", tiers.Tiers, "_leased"),
    "small": ("small", SmallPlan, "run"),
    "loop": ("loop", loops.Loop, "run"),
    "recurrence": ("recurrence", recurrences.Variant, "run"),
    "turns": ("turns", Fused, "__call__"),
    "turns' function": ("turns", LoopClusters, "function"),
}


@pytest.mark.parametrize("error", FAULTS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("form", FORMS)
def test_the_plan_answers_for_good(
    form: str, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name, owner, method = FORMS[form]
    fault = Fault(monkeypatch, owner, method)
    program, draw = PROGRAMS[name]
    given = [tf.constant(one) for one in draw()]
    wanted = by_plan(tf.function(program), given).numpy()
    function = tf.function(program)
    warm(function, given)
    fault.error = error
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            np.testing.assert_array_equal(function(*given).numpy(), wanted)
    fault.error = None
    if isinstance(error, errors.OpError) and form in {"loop", "recurrence"}:
        assert fault.count >= 4  # perhaps the caller's: not logged, each call tries again
        return
    np.testing.assert_array_equal(function(*given).numpy(), wanted)
    assert fault.count == 1
    (record,) = caplog.records
    line = record.getMessage()
    assert "\n" not in line
    assert type(error).__name__ in line
    (one,) = rejections.rejected()
    (path,) = (config.settings.cache / "rejected").iterdir()
    assert str(path) in line
    assert one.text in path.read_text()


SEARCHES: list[tuple[Any, str]] = [
    (tiers.Tiers, "layout_for"),
    (tiers, "form_of"),
    (layout.Layout, "with_regions"),
]


@pytest.mark.parametrize(("owner", "name"), SEARCHES, ids=lambda one: getattr(one, "__name__", one))
def test_a_search_that_raises_anywhere_ends_no_call(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    x = tf.constant(normal(64, 512))
    wanted = by_plan(tf.function(region), [x]).numpy()
    fault = Fault(monkeypatch, owner, name)
    fault.error = KeyError("nothing")
    function = tf.function(region)
    with caplog.at_level(logging.WARNING):
        for _ in range(8):
            np.testing.assert_array_equal(function(x).numpy(), wanted)
    assert fault.count == 1
    (record,) = caplog.records
    assert "could not be made" in record.getMessage()


def test_other_shapes_go_by_the_plan_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault(monkeypatch, Fused, "__call__")
    function = tf.function(region, input_signature=[tf.TensorSpec([None, 512], tf.float32)])
    warm(function, [tf.constant(normal(64, 512))])
    fault.error = KeyError("nothing")
    for rows in (64, 32, 64, 16):
        x = tf.constant(normal(rows, 512))
        wanted = by_plan(function, [x]).numpy()
        np.testing.assert_array_equal(function(x).numpy(), wanted)
    assert fault.count == rejections.count() == 1


class Stateful:
    """Side effects before a region, after it, and between its steps' inputs."""

    def __init__(self) -> None:
        self.count = tf.Variable(0.0)
        self.drawn = tf.Variable(tf.zeros([64, 512]))
        self.log: list[float] = []

    @tf.function
    def __call__(self, x: Any) -> Any:
        before = self.count.read_value()
        self.count.assign_add(1.0)
        between = self.count.read_value()
        noise = tf.random.normal([64, 512], seed=7)
        y = tf.tanh(x * 1.5 + between) * tf.exp(-noise)
        tf.py_function(self._note, [before], [])
        self.drawn.assign(y)
        self.count.assign_add(10.0)
        return y + before, self.count.read_value(), noise

    def _note(self, value: Any) -> None:
        self.log.append(float(value))


@pytest.mark.parametrize("error", FAULTS, ids=lambda one: type(one).__name__)
def test_effects_happen_once(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault(monkeypatch, Fused, "__call__")
    x = tf.constant(normal(64, 512))

    def calls(fails: bool) -> tuple[Stateful, list[Any]]:
        tf.random.set_seed(3)
        program = Stateful()
        found = []
        for number in range(12):
            fault.error = error if fails and number >= 9 else None
            found += [one.numpy() for one in program(x)]
        fault.error = None
        return program, found

    config.set_tier("plan")
    one, wanted = calls(fails=False)
    config.set_tier("auto")
    other, found = calls(fails=True)
    assert fault.count == 1
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-5)
    assert other.log == one.log
    assert other.count.numpy() == one.count.numpy() == 132.0
    np.testing.assert_allclose(other.drawn.numpy(), one.drawn.numpy(), rtol=2e-5, atol=2e-5)


def test_a_value_that_the_source_does_not_have_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a region ran too late: its result was needed before."""
    compiled = layout.Layout._compiled
    broken = []

    def losing(self: Any, **options: Any) -> Any:
        source = self._plan.source
        body = source.body

        def without(*arguments: Any, **forms: Any) -> list[str]:
            lines: list[str] = body(*arguments, **forms)
            place = next(n for n, line in enumerate(lines) if "Reverse" in line or n == 6)
            name = lines[place].split("(")[-1].split(",")[0].rstrip(")").strip()
            lines[place] = f"    del {name}; {lines[place].strip()}"
            broken.append(name)
            return lines

        monkeypatch.setattr(source, "body", without)
        try:
            return compiled(self, **options)
        finally:
            monkeypatch.setattr(source, "body", body)

    @tf.function
    def program(x: Any) -> Any:
        a = tf.nn.relu(x)
        b = tf.cumsum(a)
        c = tf.sort(b)
        return tf.reverse(tf.cumsum(c) + a, [0]) * 2.0 + tf.cumsum(b)

    x = tf.constant(normal(64, 512))
    wanted = by_plan(program, [x]).numpy()
    monkeypatch.setattr(layout.Layout, "_compiled", losing)
    for _ in range(8):
        np.testing.assert_array_equal(program(x).numpy(), wanted)
    assert broken
    assert rejections.count() == 1


@pytest.mark.parametrize("is_large", [False, True])
def test_the_callers_errors_are_the_callers(
    is_large: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """An index out of range: the plan's error in every call, and valid calls stay as fast."""
    table = tf.constant(normal(8, 512))

    @tf.function(
        input_signature=[tf.TensorSpec([None, 512], tf.float32), tf.TensorSpec([None], tf.int32)]
    )
    def look_up(x: Any, places: Any) -> Any:
        return tf.tanh(x * 1.5 + tf.gather(table, places)) * tf.exp(-x)

    rows = 64 if is_large else 2
    x = tf.constant(normal(rows, 512))
    good, bad = tf.zeros([rows], tf.int32), tf.fill([rows], 9)
    with pytest.raises(errors.InvalidArgumentError) as wanted:
        by_plan(look_up, [x, bad])
    config.set_tier("auto")
    with caplog.at_level(logging.WARNING):
        for _ in range(4):
            warm(look_up, [x, good])
            with pytest.raises(errors.InvalidArgumentError) as found:
                look_up(x, bad)
            assert found.value.message == wanted.value.message
    assert not caplog.records
    assert not rejections.count()
    concrete = look_up.get_concrete_function()
    assert not concrete.plan.tiers.has_failed


@pytest.mark.parametrize(
    "error", [errors.CancelledError("c"), errors.DeadlineExceededError("d"), MemoryError()]
)
def test_a_run_that_ends_is_not_run_again(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(monkeypatch, Fused, "__call__")
    x = tf.constant(normal(64, 512))
    function = tf.function(region)
    warm(function, [x])
    fault.error = error
    with pytest.raises(type(error)):
        function(x)
    fault.error = None
    function(x)
    assert not rejections.count()


def test_without_a_cache_folder_the_line_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(config.settings, "cache", None)
    fault = Fault(monkeypatch, Fused, "__call__")
    x = tf.constant(normal(64, 512))
    function = tf.function(region)
    warm(function, [x])
    fault.error = KeyError("nothing")
    function(x)
    (record,) = caplog.records
    assert "no cache folder" in record.getMessage()
