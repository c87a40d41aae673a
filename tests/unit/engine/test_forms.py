"""The first call makes the form that all calls run, by one search."""

from __future__ import annotations

import os
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import forms, rejections, tiers
from pinnace.engine.codegen import regions, small_plans
from pinnace.engine.codegen.fused import Fused
from pinnace.engine.codegen.looped import Looped
from pinnace.engine.networks.region import Network
from pinnace.framework import config
from pinnace.framework.context import not_repeated
from tests.unit.engine.test_tiers import WEIGHTS, network, normal, region, small, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from pinnace.engine.tiers import Prepared

# The form that a call runs.
PLAN, WORKSPACE, REGIONS, SMALL = "plan", "workspace", "regions", "small plan"


@pytest.fixture(autouse=True)
def _auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "auto")
    monkeypatch.setattr(rejections, "_record", rejections._Record())


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The forms that calls ran."""
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
    """The number of searches."""
    found: Counter[str] = Counter()

    def counted(owner: Any, name: str, told: str) -> None:
        method = getattr(owner, name)

        def calling(*given: Any, **options: Any) -> Any:
            found[told] += 1
            return method(*given, **options)

        monkeypatch.setattr(owner, name, calling)

    counted(regions, "fuse", "searches")
    counted(small_plans, "small_plan_of", "small searches")
    return found


def kind_of(leased: Any) -> str:
    if leased is None:
        return PLAN
    if isinstance(leased, tiers.Workspace):
        return REGIONS if leased.layout.regions else WORKSPACE
    return SMALL


def prepared_of(function: Any, *arguments: Any) -> Prepared:
    plan = function.get_concrete_function(*arguments).plan
    (prepared,) = plan.tiers._tier.prepared.values()
    assert prepared is not None
    return prepared


def mixed(x: Any) -> Any:
    """A network, and a cluster after a step that is in neither."""
    return tf.sort(network(x)), tf.tanh(tf.cumsum(x) * 2.5) * x


# The program, its arguments, the form that calls run, and the search for it.
FORMS: dict[str, tuple[Callable[..., Any], list[Any], str, dict[str, int]]] = {
    "clusters": (region, [normal(64, 512)], REGIONS, {"searches": 1, "small searches": 1}),
    "network": (network, [whole(256, 128)], REGIONS, {"searches": 1}),
    "mixed": (mixed, [whole(256, 128)], REGIONS, {"searches": 1}),
    "small plan": (
        small,
        [normal(3, 4), normal(4, 4)],
        SMALL,
        {"small searches": 1},
    ),
    "small plan without a product": (
        lambda x: tf.exp(-x) * tf.tanh(x) + tf.sigmoid(x),
        [normal(3, 4)],
        SMALL,
        {"small searches": 1},
    ),
    "a variable": (
        lambda x: tf.matmul(tf.nn.relu(tf.matmul(x, VARIABLE)), VARIABLE),
        [whole(256, 128)],
        REGIONS,
        {"searches": 1},
    ),
}
VARIABLE = tf.Variable(whole(128, 128))


@pytest.mark.parametrize("kind", FORMS)
def test_the_first_call_makes_the_form_of_all_by_one_search(
    kind: str, leases: list[str], counts: Counter[str]
) -> None:
    program, given, wanted, searches = FORMS[kind]
    arguments = [tf.constant(one) for one in given]
    function = tf.function(program)
    for _ in range(40):
        function(*arguments)
    assert leases == [wanted] * 40
    assert counts == searches
    assert not rejections.count()


@pytest.mark.parametrize("kind", FORMS)
def test_the_thousandth_call_gives_the_bits_of_the_first(kind: str) -> None:
    program, given, _, _ = FORMS[kind]
    arguments = [tf.constant(one) for one in given]
    function = tf.function(program)
    wanted = [one.numpy() for one in tf.nest.flatten(function(*arguments))]
    form = prepared_of(function, *arguments)
    for _ in range(998):
        function(*arguments)
    for one, other in zip(tf.nest.flatten(function(*arguments)), wanted, strict=True):
        np.testing.assert_array_equal(one.numpy().view(np.int32), other.view(np.int32))
    assert prepared_of(function, *arguments) is form


def test_weights_that_change_between_the_first_calls_are_inputs(counts: Counter[str]) -> None:
    """As in a step whose gradients are applied outside."""
    first, second = tf.Variable(whole(128, 128)), tf.Variable(WEIGHTS)

    @tf.function
    def loss(x: Any) -> Any:
        y = tf.matmul(tf.nn.relu(tf.matmul(x, second)), second)
        return y, tf.matmul(x, first)

    x = whole(256, 128)
    for _ in range(6):
        y, z = loss(tf.constant(x))
        np.testing.assert_array_equal(z.numpy(), x @ first.numpy())
        np.testing.assert_array_equal(y.numpy(), np.maximum(x @ WEIGHTS, 0) @ WEIGHTS)
        first.assign_add(tf.ones_like(first))
    assert counts == {"searches": 2}
    (region,) = [one for one in prepared_of(loss, tf.constant(x)).layout.regions.values() if one]
    assert isinstance(region, Network)
    assert len(region.cluster.inputs) - region._tensors == 1  # the second


def test_weights_that_change_later_are_prepared_again(counts: Counter[str]) -> None:
    weights = tf.Variable(whole(128, 128))
    program = tf.function(lambda x: tf.matmul(tf.nn.relu(tf.matmul(x, weights)), weights))
    x = whole(256, 128)
    for number in range(6):
        if number == 3:
            weights.assign(whole(128, 128))
        wanted = np.maximum(x @ weights.numpy(), 0) @ weights.numpy()
        np.testing.assert_array_equal(program(tf.constant(x)).numpy(), wanted)
    assert counts == {"searches": 1}


def test_a_plan_that_runs_while_its_form_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a recursive function that is part of a loop's recorded iteration."""
    x = tf.constant(normal(64, 512))
    function = tf.function(region)
    inner: list[Any] = []
    fuse = regions.fuse

    def calling(*given: Any, **options: Any) -> Any:
        inner.append(function(x).numpy())
        return fuse(*given, **options)

    monkeypatch.setattr(regions, "fuse", calling)
    found = function(x).numpy()
    config.set_tier("plan")
    (plain,) = inner
    np.testing.assert_array_equal(plain, function(x).numpy())
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-5)


def test_a_fork_waits_for_a_search_and_leaves_the_child_able_to_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = Held(monkeypatch, regions, "fuse")
    x = tf.zeros([64, 512])
    other = threading.Thread(target=tf.function(region), args=(x,))
    other.start()
    assert held.begun.wait(60)
    threading.Timer(0.1, held.may_go_on.set).start()
    child = os.fork()
    if not child:
        thread = threading.Thread(target=tf.function(region), args=(x,))
        thread.start()
        thread.join(60)
        os._exit(thread.is_alive())
    other.join(60)
    assert os.waitpid(child, 0)[1] == 0


def test_runs_that_are_not_repeated_get_no_form(leases: list[str]) -> None:
    x = tf.constant(normal(64, 512))
    function = tf.function(region)
    with not_repeated():
        once = function(x).numpy()
    found = function(x).numpy()
    assert leases == [PLAN, REGIONS]
    with not_repeated():  # one exists by now
        np.testing.assert_array_equal(function(x).numpy(), found)
    np.testing.assert_allclose(once, found, rtol=1e-5, atol=1e-5)


def test_a_region_with_a_loop() -> None:
    """A recurrence after convolutions, which cannot be in a table of the whole plan."""
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
    found = [program(x).numpy() for _ in range(12)]
    regions_of = prepared_of(program, x).layout.regions.values()
    assert any(isinstance(one, Looped) for one in regions_of)
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])
    config.set_tier("plan")
    # Float32 in another order, through six steps.
    np.testing.assert_allclose(found[0], program(x).numpy(), rtol=1e-4, atol=1e-5)


def test_a_plan_with_a_network_has_clusters_too() -> None:
    x = tf.constant(whole(256, 128))
    function = tf.function(mixed)
    function(x)
    kinds = {type(one) for one in prepared_of(function, x).layout.regions.values() if one}
    assert kinds == {Network, Fused}


class Held:
    """A function that blocks until it is released, in the thread that called it first."""

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
        ("small plan", small_plans, "small_plan_of"),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_others_wait_for_a_search_and_run_what_it_finds(
    kind: str, owner: Any, name: str, leases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, owner, name)
    program, given, wanted, _ = FORMS[kind]
    arguments = [tf.constant(one) for one in given]
    function = tf.function(program)
    function.get_concrete_function(*arguments)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(function(*arguments).numpy()))
        for _ in range(4)
    ]
    for one in threads:
        one.start()
    assert held.begun.wait(60)
    other = tf.function(lambda x: x * 2.0)  # which has no form
    other(tf.constant(1.0))
    assert not found
    held.may_go_on.set()
    for one in threads:
        one.join(60)
    assert leases.count(wanted) == 4
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])


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
    if not is_small:  # a plan that is not a table may have regions
        assert set(leases) <= {PLAN, WORKSPACE}
    assert [one.kind for one in rejections.rejected()] == ["search"]


def test_arguments_that_the_plan_refuses_say_nothing_about_the_search() -> None:
    """An index out of range at the first call: later calls get the table."""

    @tf.function
    def f(x: Any, i: Any) -> Any:
        return tf.gather(tf.tanh(tf.matmul(x, x)) * 2.0 + 1.0, i) * 3.0

    x, good, bad = tf.constant(np.eye(4, dtype=np.float32)), tf.constant(1), tf.constant(7)
    for _ in range(4):
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(x, bad)
    for _ in range(3):
        f(x, good)
    assert not rejections.rejected()


def test_each_set_of_shapes_has_a_form_of_its_own(counts: Counter[str]) -> None:
    function = tf.function(network, input_signature=[tf.TensorSpec([None, 128], tf.float32)])
    for rows in (256, 128, 64):
        x = tf.constant(whole(rows, 128))
        for _ in range(10):
            found = function(x).numpy()
        config.set_tier("plan")
        np.testing.assert_array_equal(found, function(x).numpy())
        config.set_tier("auto")
    assert counts == {"searches": 3}


def test_without_machine_code_there_is_nothing_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms.kernels, "_functions", {})
    x = tf.constant(normal(64, 512))
    function = tf.function(region)
    for _ in range(5):
        function(x)
    prepared = prepared_of(function, x)
    assert prepared.small is None
    assert not prepared.layout.regions
