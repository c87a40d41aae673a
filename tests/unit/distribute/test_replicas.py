"""Replicas: their context, their synchronisation, and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from pathlib import Path

distribute = tf.distribute


@pytest.fixture
def strategy() -> Any:
    return distribute.MirroredStrategy(["/CPU:0", "/CPU:1", "/CPU:2"])


def number() -> Any:
    return tf.cast(distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def test_each_replica_runs_once_with_what_is_its_own(strategy: Any) -> None:
    given = strategy.run(number)
    result = strategy.run(lambda x, y: x * 10 + y, args=(given,), kwargs={"y": 1.0})
    values = strategy.experimental_local_results(result)
    np.testing.assert_array_equal([float(x) for x in values], [1, 11, 21])
    assert isinstance(result, distribute.DistributedValues)


def test_what_is_the_same_object_in_all_stays_it(strategy: Any) -> None:
    assert strategy.run(lambda: {"a": 3, "b": None}) == {"a": 3, "b": None}


def test_places_are_known(strategy: Any) -> None:
    assert not distribute.has_strategy()
    assert distribute.get_replica_context().num_replicas_in_sync == 1
    assert not distribute.in_cross_replica_context()
    with strategy.scope():
        assert distribute.get_strategy() is strategy
        assert distribute.get_replica_context() is None
        assert distribute.in_cross_replica_context()

    def inside() -> tuple[bool, int, bool]:
        context = distribute.get_replica_context()
        known = context.strategy is strategy
        return known, context.num_replicas_in_sync, distribute.in_cross_replica_context()

    assert strategy.run(inside) == (True, 3, False)


def test_replicas_take_turns_between_merges(strategy: Any) -> None:
    order: list[Any] = []

    def step() -> None:
        context = distribute.get_replica_context()
        order.append(int(context.replica_id_in_sync_group))
        context.merge_call(lambda _: order.append("merged"))
        order.append(int(context.replica_id_in_sync_group))

    strategy.run(step)
    assert order == [0, 1, 2, "merged", 0, 1, 2]


def test_an_error_of_a_replica_is_that_of_the_run(strategy: Any) -> None:
    def step() -> Any:
        if int(number()) == 1:
            raise KeyError("of one")
        return distribute.get_replica_context().all_reduce("SUM", 1.0)

    with pytest.raises(KeyError, match="of one"):
        strategy.run(step)
    assert float(strategy.reduce("SUM", strategy.run(number), axis=None)) == 3  # and it continues


def test_replicas_that_do_not_meet_are_told(strategy: Any) -> None:
    def step() -> None:
        if int(number()) == 0:
            distribute.get_replica_context().merge_call(lambda _: None)

    with pytest.raises(RuntimeError, match="different number of"):
        strategy.run(step)


def test_a_function_may_not_meet_inside_of_another(strategy: Any) -> None:
    @tf.function
    def inner() -> Any:
        return distribute.get_replica_context().all_reduce("SUM", number())

    with pytest.raises(RuntimeError, match="`merge_call` called while defining a new graph"):
        strategy.run(lambda: inner())
    values = strategy.experimental_local_results(strategy.run(inner))
    assert [float(x) for x in values] == [3, 3, 3]


def test_a_function_has_a_graph_for_each_replica(strategy: Any) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return x + number()

    values = strategy.experimental_local_results(strategy.run(lambda: inner(tf.constant(1.0))))
    assert [float(x) for x in values] == [1, 2, 3]
    assert float(inner(tf.constant(1.0))) == 1
    assert inner.experimental_get_tracing_count() == 4


def test_a_traced_run_is_one_graph(strategy: Any) -> None:
    @tf.function
    def train(x: Any) -> Any:
        return strategy.reduce("MEAN", strategy.run(lambda y: y * number(), args=(x,)), axis=None)

    given = strategy.run(number)
    assert float(train(given)) == pytest.approx(5 / 3)
    assert float(train(given)) == pytest.approx(5 / 3)
    assert train.experimental_get_tracing_count() == 1


def test_control_flow_of_what_is_run_is_converted(strategy: Any) -> None:
    def step(x: Any) -> Any:
        if x > 1.0:  # noqa: SIM108 (a statement is what is converted)
            y = x * 100
        else:
            y = -x
        return y

    values = tf.function(lambda x: strategy.run(step, args=(x,)))(strategy.run(number))
    assert [float(x) for x in strategy.experimental_local_results(values)] == [0, -1, 200]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.run(lambda: s.run(number)), "cross-replica context"),
        (lambda s: s.run(lambda: s.reduce("SUM", 1.0, None)), "cross-replica context"),
        (lambda s: s.run(lambda: s.gather(tf.ones([2]), 0)), "all_gather"),
        (lambda s: s.run(lambda: s.scope().__enter__()), "cross-replica context"),
    ],
)
def test_what_is_between_replicas_is_refused_inside(strategy: Any, call: Any, said: str) -> None:
    with pytest.raises(RuntimeError, match=said):
        call(strategy)


def test_two_strategies_do_not_mix(strategy: Any) -> None:
    other = distribute.OneDeviceStrategy("/CPU:0")
    with strategy.scope(), pytest.raises(RuntimeError, match="Mixing different"):
        other.run(number)
    with strategy.scope(), pytest.raises(RuntimeError, match="Mixing different"), other.scope():
        pass


def test_values_outside_of_replicas_are_refused(strategy: Any) -> None:
    value = strategy.run(number)
    with pytest.raises(ValueError, match="not inside a replica context"):
        tf.add(value, 1.0)
    with pytest.raises(ValueError, match="cannot be reduced with the given reduce op"):
        strategy.reduce("SUM", tf.constant(1.0), axis=None)
    with pytest.raises(ValueError, match="MAX"):
        strategy.reduce("max", value, axis=None)


@pytest.mark.parametrize("devices", [["/CPU:0", "cpu:0"], ["no device!"]])
def test_devices_are_checked(devices: list[str]) -> None:
    with pytest.raises(ValueError, match="MirroredStrategy"):
        distribute.MirroredStrategy(devices)


def test_logical_devices_are_the_replicas() -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    parts = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, parts)
    try:
        strategy = distribute.MirroredStrategy()
    finally:
        tf.config.set_logical_device_configuration(cpu, None)
    assert strategy.extended.worker_devices == (
        "/job:localhost/replica:0/task:0/device:CPU:0",
        "/job:localhost/replica:0/task:0/device:CPU:1",
    )
    assert distribute.MirroredStrategy().num_replicas_in_sync == 1


def test_own_reductions_are_asked() -> None:
    largest = distribute.ReductionToOneDevice(
        accumulation_fn=lambda values: tf.reduce_max(tf.stack(values), 0)
    )
    own = distribute.MirroredStrategy(["/CPU:0", "/CPU:1"], cross_device_ops=largest)
    assert float(own.reduce("SUM", own.run(number), axis=None)) == 1
    with pytest.raises(TypeError, match="cross_device_ops must be CrossDeviceOps"):
        distribute.MirroredStrategy(["/CPU:0"], cross_device_ops=3)
    with pytest.raises(ValueError, match="num_packs >= 0"):
        distribute.HierarchicalCopyAllReduce(num_packs=-1)


def test_a_strategy_can_be_set_for_good(strategy: Any) -> None:
    distribute.experimental_set_strategy(strategy)
    try:
        assert distribute.get_strategy() is strategy
        assert type(tf.Variable(1.0)).__name__ == "MirroredVariable"
    finally:
        distribute.experimental_set_strategy(None)
    assert not distribute.has_strategy()


@pytest.mark.parametrize(
    ("name", "said"),
    [("TPUStrategy", "Try: "), ("ParameterServerStrategy", "Try: "), ("Server", "Try: ")],
)
def test_strategies_of_other_machines_say_what_to_use(name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=said):
        getattr(distribute, name)
    with pytest.raises(AttributeError, match="Try: "):
        _ = distribute.cluster_resolver.TPUClusterResolver


def test_one_device_records_on_the_tape_around_it() -> None:
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = distribute.OneDeviceStrategy("/CPU:0").run(lambda: x * x)
    assert float(tape.gradient(y, x)) == 6


def test_gradients_of_replicas_add_up_to_those_of_the_whole_batch(strategy: Any) -> None:
    rows = np.linspace(-1, 1, 21).reshape(7, 3)
    with strategy.scope():
        w = tf.Variable(np.full((3, 2), 0.3))

    def loss_of(x: Any) -> Any:
        return tf.reduce_sum(tf.tanh(x @ w)) / 7

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(x)
        return distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, w))

    batches = tf.data.Dataset.from_tensor_slices(rows).batch(7)
    batch = next(iter(strategy.experimental_distribute_dataset(batches)))
    found = strategy.experimental_local_results(strategy.run(step, args=(batch,)))
    h = np.tanh(rows @ np.full((3, 2), 0.3))
    expected = rows.T @ (1 - h**2) / 7
    for gradient in found:
        np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-14, atol=1e-16)


def test_files_have_what_functions_do_outside_of_replicas_on_one_copy(
    strategy: Any, tmp_path: Path
) -> None:
    """TensorFlow retraces when it saves: these are its numbers."""

    class Drawing(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = tf.random.Generator.from_seed(0)
            self.v = tf.Variable(1.0)

        @tf.function
        def draw(self) -> Any:
            return self.generator.normal([])

        @tf.function
        def more(self) -> Any:
            return self.v.assign_add(1.0)

        @tf.function
        def plus(self, x: Any) -> Any:
            context = distribute.get_replica_context()
            return self.v + x + (0.0 if context is None else 10.0)

    with strategy.scope():
        module = Drawing()
        strategy.run(lambda: module.draw())
        assert float(strategy.run(lambda: module.plus(tf.constant(1.0))).values[0]) == 12.0
        module.more()
        tf.saved_model.save(module, tmp_path / "model")
    loaded = tf.saved_model.load(tmp_path / "model")
    np.testing.assert_allclose([float(loaded.draw()) for _ in "ab"], [-1.0359411, -0.0642508], 1e-5)
    assert [float(loaded.more()) for _ in "ab"] == [3.0, 4.0]
    assert float(loaded.plus(tf.constant(2.0))) == 6.0
