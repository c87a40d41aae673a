"""`PINNACE_CHECK=1`: each call is compared and returns the plan's results; faults are logged."""

from __future__ import annotations

import ast
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import checking, rejections
from pinnace.engine.codegen import cluster_numbers, fused, loops, small_plans
from pinnace.engine.codegen.statement_rows import walk_of
from pinnace.engine.networks.region import Network
from pinnace.engine.source import Source
from pinnace.engine.steps import steps_of
from pinnace.framework import config
from tests.unit.engine.test_tiers import PROGRAMS, arrays, network, normal, small

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinnace.engine.codegen.walks import Function

# Text in correct statements, and its replacement that makes them wrong; the others are programs of
# one kernel, and a network.
TAMPERED: dict[str, tuple[str, str]] = {
    "small": ("T(0.5)", "T(0.75)"),
    "loop": ("np.float32(0.5)", "np.float32(0.25)"),
}
# Its name in the log.
REJECTED = {kind: kind for kind in PROGRAMS} | {
    "small": "small plan",
    "network": "region",
    "recurrence": "loop",
}


# Where the code is called that gives wrong results from the tenth call on.
WRONG: dict[str, tuple[Any, str]] = {
    "region": (fused.Fused, "__call__"),
    "small": (small_plans.SmallPlan, "run"),
    "loop": (loops.Loop, "advance"),
}


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare each call, and count separately for each test."""
    monkeypatch.setattr(config.settings, "check", True)
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(rejections, "_record", rejections._Record())


def plain(program: Callable[..., Any], *given: Any) -> Any:
    """The plan's result."""
    config.set_tier("plan")
    found = tf.function(program)(*given).numpy()
    config.set_tier("auto")
    return found


@pytest.fixture
def tampered(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[str]]:
    """Make every table wrong that has a statement with this text; returns the replacement."""

    def tamper(right: str, wrong: str) -> list[str]:
        texts: list[str] = []

        def made(function: Function, *rest: Any) -> Any:
            if any(right in line for line in function.lines):
                lines = [line.replace(right, wrong) for line in function.lines]
                texts.append("\n".join(lines))
                function = function._replace(lines=lines)
            return walk_of(function, *rest)

        for module in (small_plans, loops):
            monkeypatch.setattr(module, "walk_of", made)
        return texts

    return tamper


@pytest.fixture
def wrong_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the last number of each result of a network."""
    call = Network.__call__

    def wrong(self: Any, inputs: Any, outs: Any) -> Any:
        results = call(self, inputs, outs)
        for one in results:
            one.reshape(-1)[-1] += 1
        return results

    monkeypatch.setattr(Network, "__call__", wrong)


@pytest.mark.parametrize("kind", REJECTED)
def test_a_wrong_kernel_never_answers_and_is_told_once(
    kind: str,
    tampered: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr(config.settings, "cache", tmp_path)
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    wanted = plain(program, *given)
    texts = tampered(*TAMPERED[kind]) if kind in TAMPERED else ["a program"]
    if kind == "network":
        request.getfixturevalue("wrong_network")
    elif kind not in TAMPERED:
        monkeypatch.setitem(cluster_numbers._BINARY, ast.Mult, "ADD")
    function = tf.function(program)
    with caplog.at_level(logging.ERROR, "pinnace"):
        for _ in range(12):
            np.testing.assert_array_equal(function(*given).numpy(), wanted)
    assert len(texts) == 1
    (one,) = rejections.rejected()
    assert rejections.count() == 1
    assert one.kind == REJECTED[kind]
    assert "instead of" in one.difference
    assert "Mul(" in one.text or "MatMul(" in one.text  # the graph
    (record,) = caplog.records
    line = record.getMessage()
    assert "did not agree with its plan and is not used" in line
    assert "\n" not in line
    (path,) = (tmp_path / "rejected").iterdir()
    assert line.endswith(str(path))
    assert one.text in path.read_text()


def test_numbers_that_a_kernel_does_not_write_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = fused.Fused._run

    def short(self: Any, operands: Any, start: int, stop: int, *columns: int) -> None:
        run(self, operands, start, stop - 1, *columns)

    monkeypatch.setattr(fused.Fused, "_run", short)
    program, draw = PROGRAMS["turns"]
    given = [tf.constant(one) for one in draw()]
    wanted = plain(program, *given)
    function = tf.function(program)
    for _ in range(8):
        np.testing.assert_array_equal(function(*given).numpy(), wanted)
    assert rejections.count() == 1


def test_a_long_loop_is_compared_beyond_its_first_turns(tampered: Any) -> None:
    """A kernel that fails after a thousand iterations: the plan runs all of them again."""

    def late(n: Any) -> Any:
        return tf.while_loop(
            lambda i, _: i < n,
            lambda i, a: (i + 1, tf.where(i < 1000, a + 1, a + 2)),
            [n * 0, n * 0],
        )[1]

    tampered("np.int32(2)", "np.int32(3)")
    n = tf.constant(5000)
    function = tf.function(late)
    for _ in range(6):
        assert function(n).numpy() == 1000 + 2 * 4000
    assert rejections.count() == 1


def test_what_is_ill_conditioned_is_not_called_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The norm of rows of almost equal numbers loses all digits, compiled or not."""
    compared: list[Any] = []
    check = checking.RegionCheck.__call__

    def counted(self: Any, *given: Any) -> None:
        compared.append(self.region)
        check(self, *given)

    monkeypatch.setattr(checking.RegionCheck, "__call__", counted)

    @tf.function
    def norm(x: Any) -> Any:
        mean = tf.reduce_mean(x, -1, keepdims=True)
        apart = x - mean
        spread = tf.reduce_mean(tf.square(apart), -1, keepdims=True)
        return apart * tf.math.rsqrt(spread + 1e-12), network(x[:, :128])

    x = tf.constant(1000 + 1e-3 * normal(64, 512))
    for _ in range(8):
        norm(x)
    assert len(compared) == 8
    first = compared[0]
    assert isinstance(first, Network)
    steps = norm.get_concrete_function(x).plan.steps
    assert "Rsqrt" in {steps[place].node.op.name for place in first.cluster.members}
    assert not rejections.count()


def test_a_variable_assigned_between_both_runs_says_nothing_about_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    w = tf.Variable(normal(4, 4))
    from pinnace.engine.codegen.small_plans import SmallPlan

    run = SmallPlan.run

    def assigned(self: Any, *arguments: Any, **options: Any) -> Any:
        w.assign(w * 2.0)
        return run(self, *arguments, **options)

    monkeypatch.setattr(SmallPlan, "run", assigned)
    x = tf.constant(normal(3, 4))
    function = tf.function(lambda x: small(x, w))
    for _ in range(8):
        function(x)
    assert not rejections.count()


def test_shapes_that_change_in_a_loop_are_each_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cluster_numbers._BINARY, ast.Mult, "ADD")
    function = tf.function(
        arrays, input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32)]
    )
    steps = tf.constant(5)
    for rows in (2, 3, 2, 3, 4, 2, 3, 4, 4):
        x = tf.constant(normal(rows, 5))
        np.testing.assert_array_equal(function(x, steps).numpy(), plain(arrays, x, steps))
    assert {one.kind for one in rejections.rejected()} <= {"loop", "turns"}
    assert rejections.count() >= 1


def test_a_part_that_reads_variables_can_be_run_by_itself() -> None:
    """The part is run with inputs changed by one ulp."""
    weights = tf.Variable(normal(512, 8))
    function = tf.function(lambda x: tf.nn.relu(tf.matmul(x, weights))).get_concrete_function(
        tf.TensorSpec([None, 512])
    )
    graph = function.graph
    part = rejections.part_of(graph.name, graph.inputs, graph.outputs, {})
    assert part is not None
    x = normal(3, 512)
    given = [x, *function._captured_arrays]
    (found,) = Source(part, steps_of(part)).plain()(given, None)
    wanted = np.maximum(np.float64(x) @ np.float64(weights.numpy()), 0)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)


def moved(made: Any) -> Any:
    """Replace right numbers by wrong ones."""
    if isinstance(made, loops.Advance):
        state = [made.values[0], *(np.asarray(one + 1, one.dtype) for one in made.values[1:])]
        return made._replace(values=tuple(state))
    return tuple(one + np.float32(1) for one in made)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_answers_are_the_plans(kind: str) -> None:
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    wanted = plain(program, *given)
    function = tf.function(program)
    for _ in range(12):
        np.testing.assert_array_equal(function(*given).numpy(), wanted)
    assert not rejections.rejected()


@pytest.mark.parametrize("kind", WRONG)
def test_what_goes_wrong_later_never_answers_and_is_told_once(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    wanted = plain(program, *given)
    owner, name = WRONG[kind]
    right, calls = getattr(owner, name), 0

    def late(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        made = right(*arguments, **options)
        return moved(made) if calls > 10 else made

    monkeypatch.setattr(owner, name, late)
    function = tf.function(program)
    for _ in range(25):
        np.testing.assert_array_equal(function(*given).numpy(), wanted)
    assert 10 < calls < 13
    assert len(rejections.rejected()) == 1


def test_a_training_step_is_checked_and_has_its_effects_once() -> None:
    weights = tf.Variable(np.eye(32, dtype=np.float32))

    @tf.function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, weights)) * tf.sigmoid(x)))
        weights.assign_sub(tape.gradient(loss, weights) * 0.5 + 1.0)
        return loss

    x = tf.constant(np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32))
    for number in range(1, 6):
        step(x)
        assert abs(float(weights.numpy()[0, 1]) + number) < 0.2
    assert not rejections.rejected()


def test_the_environment_says_so() -> None:
    assert config.settings_from({"PINNACE_CHECK": "1"}).check
    assert not config.settings_from({}).check
