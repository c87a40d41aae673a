"""A wrong kernel never answers: it is compared with the plan first, counted and logged."""

from __future__ import annotations

import ast
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import loop_tiers, rejections, trials
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import cluster_numbers, fused, loops, regions, small_plans
from pinnace.engine.codegen.statement_rows import walk_of
from pinnace.engine.networks.region import Network
from pinnace.engine.source import Source
from pinnace.engine.steps import steps_of
from pinnace.framework import config
from tests.unit.engine.test_tiers import PROGRAMS, arrays, network, normal, region, small, whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pinnace.engine.codegen.statement_functions import Function

# Text that right statements contain, and what makes them wrong; the others are programs of one
# kernel, and a network.
TAMPERED: dict[str, tuple[str, str]] = {
    "small": ("T(0.5)", "T(0.75)"),
    "loop": ("np.float32(0.5)", "np.float32(0.25)"),
}
# What is compared with the plan; clusters alone are not.
COMPARED = {kind: kind for kind in PROGRAMS if kind != "region"} | {
    "small": "small plan",
    "network": "region",
}


@pytest.fixture(autouse=True)
def hot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops have tables from their first start, and each test counts for itself."""
    monkeypatch.setattr(loop_tiers, "OFTEN", 1)
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(rejections, "_record", rejections._Record())


def plain(program: Callable[..., Any], *given: Any) -> Any:
    """What the plan gives."""
    config.set_tier("plan")
    found = tf.function(program)(*given).numpy()
    config.set_tier("auto")
    return found


@pytest.fixture
def tampered(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], list[str]]:
    """Makes every table wrong that has a statement with a text in it; what it says instead."""

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
    """The last number of each result of a network is another one."""
    call = Network.__call__

    def wrong(self: Any, inputs: Any, outs: Any) -> Any:
        results = call(self, inputs, outs)
        for one in results:
            one.reshape(-1)[-1] += 1
        return results

    monkeypatch.setattr(Network, "__call__", wrong)


@pytest.mark.parametrize("kind", COMPARED)
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
    assert one.kind == COMPARED[kind]
    assert "instead of" in one.difference
    assert "Mul(" in one.text or "MatMul(" in one.text  # the graph
    (record,) = caplog.records
    line = record.getMessage()
    assert "did not agree with its plan and is not used" in line
    assert "\n" not in line
    (path,) = (tmp_path / "rejected").iterdir()
    assert line.endswith(str(path))
    assert one.text in path.read_text()


def test_a_search_that_fails_ends_no_call(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The plan stays; a pinned tier, which tests use, hands the error on."""

    def failing(*_: Any, **__: Any) -> Any:
        raise IndexError("no such step")

    x = tf.constant(normal(64, 512))
    wanted = plain(region, x)
    monkeypatch.setattr(regions, "fuse", failing)
    function = tf.function(region)
    with caplog.at_level(logging.ERROR, "pinnace"):
        for _ in range(6):
            np.testing.assert_array_equal(function(x).numpy(), wanted)
    (one,) = rejections.rejected()
    assert (one.kind, one.difference) == ("search", "IndexError: no such step")
    (record,) = caplog.records
    assert "could not be made and is not used" in record.getMessage()
    config.set_tier("compiled")
    with pytest.raises(IndexError, match="no such step"):
        tf.function(region)(x)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_right_kernel_takes_over_after_one_comparison(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool | None] = []
    end = trials.Verdict.end

    def counted(self: Any, agreed: bool | None) -> bool:
        ended.append(agreed)
        return end(self, agreed)

    monkeypatch.setattr(trials.Verdict, "end", counted)
    program, draw = PROGRAMS[kind]
    given = [tf.constant(one) for one in draw()]
    wanted = plain(program, *given)
    function = tf.function(program)
    for _ in range(8):
        # As in test_tiers: a few functions within 16 units of the last place.
        np.testing.assert_allclose(function(*given).numpy(), wanted, rtol=1e-5, atol=1e-5)
    assert ended == [True] * (kind in COMPARED)
    assert not rejections.count()


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


def test_effects_happen_once_while_a_region_is_on_trial() -> None:
    """The random numbers of a plan with a network go on as by the plan."""
    x = tf.constant(whole(256, 128))

    def calls(tier: Any) -> tuple[Any, list[float]]:
        config.set_tier(tier)
        tf.random.set_seed(3)
        function = tf.function(lambda x: (network(x), tf.random.normal([])))
        return function, [float(function(x)[1]) for _ in range(10)]

    _, wanted = calls("plan")
    function, found = calls("auto")
    assert found == wanted
    (prepared,) = plan_of(function.get_concrete_function(x).graph).tiers._tier.prepared.values()
    assert prepared is not None
    assert any(isinstance(one, Network) for one in prepared.layout.regions.values())


@pytest.mark.usefixtures("wrong_network")
def test_a_wrong_region_leaves_the_others_of_its_plan() -> None:
    def two(x: Any) -> Any:
        return tf.sort(network(x)), tf.tanh(tf.cumsum(x) * 2.5) * x

    x = tf.constant(whole(256, 128))
    config.set_tier("plan")
    wanted = tf.function(two)(x)
    config.set_tier("auto")
    function = tf.function(two)
    for _ in range(9):
        for one, other in zip(function(x), wanted, strict=True):
            # As in test_tiers.
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-5)
    assert rejections.count() == 1
    (prepared,) = plan_of(function.get_concrete_function(x).graph).tiers._tier.prepared.values()
    assert prepared is not None
    (left,) = [one for one in prepared.layout.regions.values() if one is not None]
    assert isinstance(left, fused.Fused)


def test_a_long_loop_is_compared_beyond_its_first_turns(tampered: Any) -> None:
    """A kernel that goes wrong after a thousand turns: the plan runs all of them again."""

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
    """The norm of rows of nearly equal numbers keeps none of its digits, compiled or not."""
    compared: list[Any] = []
    check = trials.RegionCheck.__call__

    def counted(self: Any, *given: Any) -> None:
        compared.append(self.region)
        check(self, *given)

    monkeypatch.setattr(trials.RegionCheck, "__call__", counted)

    @tf.function
    def norm(x: Any) -> Any:
        mean = tf.reduce_mean(x, -1, keepdims=True)
        apart = x - mean
        spread = tf.reduce_mean(tf.square(apart), -1, keepdims=True)
        return apart * tf.math.rsqrt(spread + 1e-12), network(x[:, :128])

    x = tf.constant(1000 + 1e-3 * normal(64, 512))
    for _ in range(8):
        norm(x)
    (region,) = compared
    assert isinstance(region, Network)
    steps = plan_of(norm.get_concrete_function(x).graph).steps
    assert "Rsqrt" in {steps[place].node.op.name for place in region.cluster.members}
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


def test_shapes_that_change_in_a_loop_are_each_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cluster_numbers._BINARY, ast.Mult, "ADD")
    function = tf.function(
        arrays, input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32)]
    )
    steps = tf.constant(5)
    for rows in (2, 3, 2, 3, 4, 2, 3, 4, 4):
        x = tf.constant(normal(rows, 5))
        np.testing.assert_array_equal(function(x, steps).numpy(), plain(arrays, x, steps))
    assert {one.kind for one in rejections.rejected()} <= {"recurrence", "turns"}
    assert rejections.count() >= 1


def test_a_part_that_reads_variables_can_be_run_by_itself() -> None:
    """What inputs one ulp off lead to is asked of it."""
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
