"""The form of calls is found by one search, compared at most once, and is the last one."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import promotion, rejections, tiers, trials
from pinnace.engine.build import plan_of
from pinnace.engine.codegen import regions, small_plans
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.looped import Looped
from pinnace.engine.networks.region import Network
from pinnace.framework import config
from tests.unit.engine.test_tiers import network, normal, region, small, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.engine.tiers import Prepared

# What calls run before they have a form: the plan, until shapes repeat.
PLAN, WORKSPACE, REGIONS, SMALL, TRIAL = "plan", "workspace", "regions", "small plan", "trial"


@pytest.fixture(autouse=True)
def _auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(rejections, "_record", rejections._Record())


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What each call ran."""
    found: list[str] = []
    lease = tiers.Tiers.lease

    def noted(self: Any, arrays: Any) -> Any:
        leased = lease(self, arrays)
        found.append(kind_of(leased))
        return leased

    monkeypatch.setattr(tiers.Tiers, "lease", noted)
    return found


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often there was a search, and a comparison."""
    found: Counter[str] = Counter()

    def counted(owner: Any, name: str, told: str) -> None:
        method = getattr(owner, name)

        def calling(*given: Any, **options: Any) -> Any:
            found[told] += 1
            return method(*given, **options)

        monkeypatch.setattr(owner, name, calling)

    counted(regions, "fuse", "searches")
    counted(small_plans, "small_plan_of", "small searches")
    counted(trials.RegionTrial, "run", "trials")
    counted(trials.SmallTrial, "run", "small trials")
    return found


def kind_of(leased: Any) -> str:
    if leased is None:
        return PLAN
    if isinstance(leased, tiers.Workspace):
        return REGIONS if leased.prepared.layout.regions else WORKSPACE
    return TRIAL if hasattr(leased, "verdict") else SMALL


def prepared_of(function: Any, *arguments: Any) -> Prepared:
    plan = plan_of(function.get_concrete_function(*arguments).graph)
    (prepared,) = plan.tiers._tier.prepared.values()
    assert prepared is not None
    return prepared


def mixed(x: Any) -> Any:
    """A network, and a cluster behind what neither takes."""
    return tf.sort(network(x)), tf.tanh(tf.cumsum(x) * 2.5) * x


# The program, its arguments, what the first calls run, and what was searched and compared.
FORMS: dict[str, tuple[Callable[..., Any], list[Any], list[str], dict[str, int]]] = {
    "clusters": (
        region,
        [normal(64, 512)],
        [PLAN, PLAN, REGIONS],
        {"searches": 1, "small searches": 1},
    ),
    "network": (
        network,
        [whole(256, 128)],
        [PLAN, TRIAL, REGIONS],
        {"searches": 1, "trials": 1},
    ),
    "mixed": (mixed, [whole(256, 128)], [PLAN, TRIAL, REGIONS], {"searches": 1, "trials": 1}),
    "small plan": (
        small,
        [normal(3, 4), normal(4, 4)],
        [PLAN, PLAN, TRIAL, SMALL],
        {"small searches": 1, "small trials": 1},
    ),
    "small plan without a product": (
        lambda x: tf.exp(-x) * tf.tanh(x) + tf.sigmoid(x),
        [normal(3, 4)],
        [PLAN, PLAN, TRIAL, SMALL],
        {"small searches": 1, "small trials": 1},
    ),
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_form_is_searched_once_and_compared_once_at_most(
    kind: str, leases: list[str], counts: Counter[str]
) -> None:
    program, given, first, wanted = FORMS[kind]
    arguments = [tf.constant(one) for one in given]
    function = tf.function(program)
    for _ in range(40):
        function(*arguments)
    assert leases == [*first, *[first[-1]] * (40 - len(first))]
    assert counts == wanted
    assert not rejections.count()


@pytest.mark.parametrize("kind", FORMS)
def test_the_thousandth_call_gives_the_bits_of_the_second_of_its_form(kind: str) -> None:
    program, given, first, _ = FORMS[kind]
    arguments = [tf.constant(one) for one in given]
    function = tf.function(program)
    for _ in range(len(first)):
        function(*arguments)
    wanted = [one.numpy() for one in tf.nest.flatten(function(*arguments))]
    form = prepared_of(function, *arguments)
    for _ in range(1000 - len(first) - 2):
        function(*arguments)
    for one, other in zip(tf.nest.flatten(function(*arguments)), wanted, strict=True):
        np.testing.assert_array_equal(one.numpy().view(np.int32), other.view(np.int32))
    assert prepared_of(function, *arguments) is form
    assert form.promotion is None


def test_a_region_with_a_loop_is_compared_once(leases: list[str], counts: Counter[str]) -> None:
    """A recurrence behind convolutions, which no table of the whole plan takes."""
    layers = tf.keras.layers
    tf.random.set_seed(3)
    model = tf.keras.Sequential(
        [
            tf.keras.Input([9, 11, 1]),
            layers.Conv2D(8, (3, 3), activation="relu"),
            layers.Conv2D(4, (2, 3), strides=(1, 2), activation="relu"),
            layers.Reshape((6, -1)),
            layers.GRU(7),
            layers.Dense(3),
        ]
    )
    x = tf.constant(normal(2, 9, 11, 1))
    program = tf.function(lambda x: tf.sort(model(x), -1))
    plan = plan_of(program.get_concrete_function(x).graph)
    compared: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        check = trials.RegionCheck.__call__
        patch.setattr(
            trials.RegionCheck,
            "__call__",
            lambda one, *given: (compared.append(type(one.region)), check(one, *given))[1],
        )
        found = [program(x).numpy() for _ in range(12)]
    assert compared.count(Looped) == 1
    assert counts["trials"] == leases.count(TRIAL) == 1
    (prepared,) = plan.tiers._tier.prepared.values()
    assert prepared is not None
    assert any(isinstance(one, Looped) for one in prepared.layout.regions.values())
    assert prepared.promotion is None
    for one in found[1:]:
        # Float32 in another order, through six steps.
        np.testing.assert_allclose(one, found[0], rtol=1e-4, atol=1e-5)
    for one in found[-4:]:
        np.testing.assert_array_equal(one, found[-1])


def test_a_plan_with_a_network_has_its_clusters_compared_too() -> None:
    x = tf.constant(whole(256, 128))
    function = tf.function(mixed)
    for _ in range(4):
        function(x)
    kinds = {type(one) for one in prepared_of(function, x).layout.regions.values() if one}
    assert kinds == {Network, Fused}


class Held:
    """A function that stops until it is let go on, in the thread that called it first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        method = getattr(owner, name)

        def holding(*given: Any, **options: Any) -> Any:
            if not self.begun.is_set():
                self.begun.set()
                assert self.may_go_on.wait(60)
            return method(*given, **options)

        monkeypatch.setattr(owner, name, holding)


@pytest.mark.parametrize(
    ("kind", "owner", "name"),
    [
        ("clusters", regions, "fuse"),
        ("network", regions, "fuse"),
        ("network", trials.RegionCheck, "__call__"),
        ("small plan", small_plans, "small_plan_of"),
        ("small plan", small_plans.SmallPlan, "run"),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_others_run_the_plan_in_memory_while_one_searches_or_compares(
    kind: str, owner: Any, name: str, leases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, owner, name)
    program, given, first, _ = FORMS[kind]
    arguments = [tf.constant(one) for one in given]
    config.set_tier("plan")
    wanted = tf.function(program)(*arguments).numpy()
    config.set_tier("auto")
    function = tf.function(program)
    begun = first.index(TRIAL) if TRIAL in first else first.index(REGIONS)
    for _ in range(begun):
        function(*arguments)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function(*arguments).numpy()))
    thread.start()
    assert held.begun.wait(60)
    leases.clear()
    try:
        for _ in range(5):
            np.testing.assert_allclose(function(*arguments).numpy(), wanted, rtol=1e-5, atol=1e-5)
        assert leases == [WORKSPACE] * 5
    finally:
        held.may_go_on.set()
        thread.join()
    np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=1e-5)
    for _ in range(3):
        function(*arguments)
    assert leases[-1] == first[-1]


@pytest.mark.parametrize("kind", FORMS)
def test_a_search_that_raises_leaves_the_plan(
    kind: str, leases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any, **__: Any) -> Any:
        raise KeyError("a bug in the search")

    program, given, _, _ = FORMS[kind]
    arguments = [tf.constant(one) for one in given]
    config.set_tier("plan")
    wanted = [one.numpy() for one in tf.nest.flatten(tf.function(program)(*arguments))]
    config.set_tier("auto")
    is_small = "small plan" in kind
    if is_small:
        monkeypatch.setattr(small_plans, "small_plan_of", failing)
    else:
        monkeypatch.setattr(regions, "fuse", failing)
    function = tf.function(program)
    for _ in range(8):
        for one, other in zip(tf.nest.flatten(function(*arguments)), wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-5)
    if not is_small:  # a plan that is no table may have regions
        assert set(leases) <= {PLAN, WORKSPACE}
    assert [one.kind for one in rejections.rejected()] == ["search"]


def test_arguments_that_the_plan_refuses_say_nothing_about_the_search() -> None:
    """An index out of range at the call that prepares the shapes: later calls get the table."""

    @tf.function
    def f(x: Any, i: Any) -> Any:
        return tf.gather(tf.tanh(tf.matmul(x, x)) * 2.0 + 1.0, i) * 3.0

    x, good, bad = tf.constant(np.eye(4, dtype=np.float32)), tf.constant(1), tf.constant(7)
    f(x, good)
    for _ in range(4):
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(x, bad)
    for _ in range(3):
        f(x, good)
    assert not rejections.rejected()


def test_a_form_that_does_not_agree_is_not_compared_again(
    leases: list[str], counts: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_plans.SmallPlan.run

    def wrong(self: Any, *given: Any, **options: Any) -> Any:
        return tuple(one + 1 for one in run(self, *given, **options))

    monkeypatch.setattr(small_plans.SmallPlan, "run", wrong)
    arguments = [tf.constant(one) for one in FORMS["small plan"][1]]
    function = tf.function(small)
    for _ in range(20):
        function(*arguments)
    assert counts["small trials"] == 1
    assert leases.count(TRIAL) == 1
    assert SMALL not in leases
    assert prepared_of(function, *arguments).promotion is None


def test_each_set_of_shapes_has_a_form_of_its_own(counts: Counter[str]) -> None:
    function = tf.function(network, input_signature=[tf.TensorSpec([None, 128], tf.float32)])
    for rows in (256, 128, 64):
        x = tf.constant(whole(rows, 128))
        for _ in range(10):
            found = function(x).numpy()
        config.set_tier("plan")
        np.testing.assert_array_equal(found, function(x).numpy())
        config.set_tier("auto")
    assert counts["trials"] == 3


def test_without_machine_code_there_is_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotion.kernels, "_functions", {})
    x = tf.constant(normal(64, 512))
    function = tf.function(region)
    for _ in range(5):
        function(x)
    assert prepared_of(function, x).promotion is None
