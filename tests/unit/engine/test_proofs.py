"""What one process has proved, the next one takes: of the same graph, shapes, machine and code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import contests, loop_tiers, promotion, proofs, tiers, trials
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import compiler
from pinnace.engine.proofs import Proof
from pinnace.framework import config
from tests.unit.engine.test_tiers import normal, region, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Proofs are kept here, and count; what agrees wins its contest; what is seen is hot."""
    monkeypatch.setattr(config.settings, "proofs", True)
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(config.settings, "caches", {"PINNACE_CACHE": str(tmp_path)})
    monkeypatch.setattr(tiers, "_HOT_S", 0.0)
    # Regions of the installation's library need no proof: as where it has none.
    monkeypatch.setattr(promotion.Promotion, "regions_ahead", lambda *_, **__: None)
    monkeypatch.setattr(loop_tiers, "OFTEN", 1)
    # Whatever times are measured beside other work.
    monkeypatch.setattr(contests, "_SLACK", 1e9)
    monkeypatch.setattr(proofs, "_CLOSE", 1e9)
    monkeypatch.setattr(contests, "_SETTLING_S", 2e-5)
    yield tmp_path / "proofs"
    settle()


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An element for each run that was compared with the plan."""
    found: list[int] = []
    end = trials.Verdict.end

    def counted(self: Any, agreed: bool | None, seconds: float = 0.0) -> bool:
        found.append(1)
        return end(self, agreed, seconds)

    monkeypatch.setattr(trials.Verdict, "end", counted)
    return found


def settle() -> None:
    for kernel in list(compiler._kernels.values()):
        assert kernel.done.wait(120)


def run(program: Callable[..., Any], *given: Any, times: int = 60) -> Any:
    """A program of its own, as another process would make it, called some times."""
    function = tf.function(program)
    for _ in range(times):
        found = function(*given)
        settle()
    return function, found.numpy()


def plain(program: Callable[..., Any], *given: Any) -> Any:
    config.set_tier("plan")
    found = tf.function(program)(*given).numpy()
    config.set_tier("auto")
    return found


def proof_in(folder: Path) -> tuple[Path, dict[str, Any]]:
    (path,) = folder.iterdir()
    return path, json.loads(path.read_bytes())


def test_the_next_process_compares_nothing(compared: list[int], folder: Path) -> None:
    x = tf.constant(normal(64, 512))
    run(region, x)
    assert len(compared) == trials.RUNS
    _, told = proof_in(folder)
    assert told["regions"]
    assert told["plan_s"] > 0
    del compared[:]
    function, found = run(region, x, times=4)
    assert not compared
    # As in test_tiers: a few functions within 16 units of the last place.
    np.testing.assert_allclose(found, plain(region, x), rtol=1e-5, atol=1e-5)
    graph = function.get_concrete_function(x).graph
    (decision,) = plan_of(graph).tiers.decisions().values()
    assert (decision.plan_s, decision.compiled_s) == (told["plan_s"], told["compiled_s"])


def drawn(seed: int) -> Callable[..., Any]:
    """Elementwise steps, sums of rows and products in an order of their own."""
    random = np.random.default_rng(seed)
    weights = (random.standard_normal((512, 512)) / 23).astype(np.float32)
    steps: list[Callable[..., Any]] = [
        lambda x: tf.tanh(x * 1.5),
        lambda x: tf.nn.relu(x - 0.25) + x * 0.5,
        tf.nn.softmax,
        lambda x: x - tf.reduce_mean(x, 1, keepdims=True),
        lambda x: tf.sigmoid(tf.matmul(x, weights) + 0.5),
        lambda x: tf.abs(x) * tf.exp(-x * x),
    ]
    order = random.integers(0, len(steps), 5)

    def program(x: Any) -> Any:
        for step in order:
            x = steps[step](x)
        return x * 0.75 + 0.125

    return program


@pytest.mark.parametrize("seed", range(8))
def test_drawn_programs_are_the_plans_settled(seed: int, compared: list[int], folder: Path) -> None:
    x = tf.constant(normal(96, 512))
    wanted = plain(drawn(seed), x)
    run(drawn(seed), x)
    before = len(compared)
    function = tf.function(drawn(seed))
    for _ in range(8):
        found = function(x).numpy()
        settle()
        # Sums of 512 products about 1, in another order, and a few functions behind one another.
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    # Where all kernels are the library's no proof is kept, and each process compares one run.
    assert len(compared) == before + (not folder.exists())


def test_a_slow_plan_is_not_run_once(compared: list[int], folder: Path) -> None:
    x = tf.constant(normal(64, 512))
    run(region, x)
    path, told = proof_in(folder)
    path.write_text(json.dumps({**told, "plan_s": told["made_s"] + 1}))
    del compared[:]
    function, _ = run(region, x, times=1)
    assert not compared
    assert plan_of(function.get_concrete_function(x).graph).tiers.is_settled()


def test_iterations_of_loops_are_remembered(compared: list[int], folder: Path) -> None:
    given = [tf.constant(normal(64, 512)), tf.constant(40)]
    run(turns, *given, times=12)
    assert len(compared) == trials.RUNS
    assert proof_in(folder)[1]["regions"]
    del compared[:]
    _, found = run(turns, *given, times=4)
    assert not compared
    np.testing.assert_allclose(found, plain(turns, *given), rtol=1e-4, atol=1e-4)


def test_what_was_about_as_quick_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, compared: list[int], folder: Path
) -> None:
    monkeypatch.setattr(contests, "_SLACK", 0.0)
    x = tf.constant(normal(64, 512))
    run(region, x, times=100)
    assert proof_in(folder)[1]["regions"] == []
    del compared[:]
    function, _ = run(region, x, times=4)
    assert not compared
    assert plan_of(function.get_concrete_function(x).graph).tiers.is_settled()
    # A plan that won by far is no news worth keeping.
    monkeypatch.setattr(proofs, "_CLOSE", 0.0)
    proof_in(folder)[0].unlink()
    run(region, x, times=100)
    assert not list(folder.iterdir())


def with_weights(w: tf.Variable) -> Callable[..., Any]:
    return lambda x: tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, w) + 0.5), w)) * 0.25


def test_a_weight_that_changes_now_is_seen(compared: list[int], folder: Path) -> None:
    """The earlier process never assigned to it."""
    x, w = tf.constant(normal(96, 256)), tf.Variable(normal(256, 256) / 16)
    run(with_weights(w), x)
    # Only kernels of the library: no proof is kept, and each process compares one run.
    assert not folder.exists()
    assert len(compared) == 1
    function = tf.function(with_weights(w))
    for _ in range(6):
        w.assign(normal(256, 256) / 16)
        wanted = np.maximum(np.maximum(x.numpy() @ w.numpy() + 0.5, 0) @ w.numpy(), 0) * 0.25
        # Sums of 256 products of numbers about 1, twice: 1e-4 is 1000 units in the last place.
        np.testing.assert_allclose(function(x).numpy(), wanted, rtol=1e-4, atol=1e-4)
        settle()


def damaged(told: dict[str, Any]) -> dict[str, bytes]:
    return {
        "not JSON": b"{",
        "a list": b"[]",
        "nothing": b"",
        "no maker's name": json.dumps({**told, "made_by": 7}).encode(),
        "another field": json.dumps({**told, "more": 1}).encode(),
        "places that are none": json.dumps({**told, "regions": [["a"]]}).encode(),
        "regions that are none": json.dumps({**told, "regions": 7}).encode(),
        "a time that is none": json.dumps({**told, "plan_s": "soon"}).encode(),
        "no number": json.dumps({**told, "plan_s": float("nan")}).encode(),
        "nested": b"[" * 100_000,
    }


def test_what_is_no_proof_does_not_count(folder: Path) -> None:
    x = tf.constant(normal(64, 512))
    function, _ = run(region, x)
    path, told = proof_in(folder)
    graph = function.get_concrete_function(x).graph
    key = ((64, 512),)
    assert proofs.find(graph, key) == Proof(**told)
    assert Proof(**told).counts
    assert not Proof(**{**told, "made_by": ""}).counts
    assert proofs.find(graph, ((64, 511),)) is None
    for kind, content in damaged(told).items():
        path.write_bytes(content)
        assert proofs.find(graph, key) is None, kind
    path.write_text(json.dumps(told))
    path.chmod(0o666)
    assert proofs.find(graph, key) is None
    path.chmod(0o600)
    folder.chmod(0o777)
    assert proofs.find(graph, key) is None


def test_a_proof_of_another_machine_does_not_count(compared: list[int], folder: Path) -> None:
    x = tf.constant(normal(64, 512))
    run(region, x)
    path, told = proof_in(folder)
    path.write_text(json.dumps({**told, "made_by": "somebody"}))
    del compared[:]
    run(region, x)
    assert len(compared) == trials.RUNS


@pytest.mark.parametrize("regions", [[[0, 1]], [[0], [1]], [[99]]])
def test_a_proof_of_other_regions_is_dropped(
    regions: list[list[int]], compared: list[int], folder: Path
) -> None:
    x = tf.constant(normal(64, 512))
    run(region, x)
    path, told = proof_in(folder)
    assert told["regions"] != regions
    path.write_text(json.dumps({**told, "regions": regions}))
    del compared[:]
    _, found = run(region, x)
    assert len(compared) == trials.RUNS
    np.testing.assert_allclose(found, plain(region, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "value"),
    [("proofs", False), ("poison", True), ("caches", {"PINNACE_CACHE": ""}), ("tier", "compiled")],
)
def test_settings_that_want_no_proof(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(config.settings, name, value)
    run(region, tf.constant(normal(64, 512)))
    assert not folder.exists()


def test_all_users_may_read_what_is_shared(folder: Path) -> None:
    run(region, tf.constant(normal(64, 512)))
    path, _ = proof_in(folder)
    path.chmod(0o600)
    assert folder.stat().st_mode & 0o777 == 0o700
    proofs.share()
    assert (folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o755, 0o644)
