"""Variables of a strategy: copies, aggregation of assignments, files, and creators.

The numbers are TensorFlow's; `tests/interop/test_strategies.py` compares many more with it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from pathlib import Path

distribute = tf.distribute
A, S = tf.VariableAggregation, tf.VariableSynchronization


@pytest.fixture
def strategy() -> Any:
    return distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])


def number() -> Any:
    return tf.cast(distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def copies(v: Any) -> list[float]:
    return [float(one) for one in v.values]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [(A.SUM, [5, 5]), (A.MEAN, [2.5, 2.5]), (A.ONLY_FIRST_REPLICA, [2, 2]), (A.NONE, [2, 3])],
)
def test_what_replicas_assign_is_aggregated(
    strategy: Any, aggregation: Any, expected: list[float], traced: bool
) -> None:
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=aggregation)

    def steps() -> None:
        strategy.run(lambda: (v.assign(number() + 2.0), None)[1])

    (tf.function(steps) if traced else steps)()
    assert copies(v) == expected
    assert float(v.numpy()) == float(v + 0.0) == expected[0]
    v.assign_add(1.0)
    assert copies(v) == [one + 1 for one in expected]
    v.assign(7.0)
    assert copies(v) == [7, 7]


@pytest.mark.parametrize(
    ("aggregation", "read", "share"),
    [(A.SUM, 5, 4), (A.MEAN, 2.5, 8), (A.ONLY_FIRST_REPLICA, 2, 8)],
)
def test_copies_that_differ_are_aggregated_where_they_are_read(
    strategy: Any, aggregation: Any, read: float, share: float
) -> None:
    with strategy.scope():
        v = tf.Variable(1.0, synchronization=S.ON_READ, aggregation=aggregation)
    assert not v.trainable
    strategy.run(lambda: (v.assign(number() + 2.0), None)[1])
    assert copies(v) == [2, 3]
    assert float(v.read_value()) == float(v + 0.0) == read
    assert float(tf.function(lambda: v * 2.0)()) == 2 * read
    v.assign(8.0)
    assert copies(v) == [share, share]
    assert float(v.numpy()) == 8


def test_a_sum_of_copies_cannot_be_changed_by_a_difference(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(1.0, synchronization=S.ON_READ, aggregation=A.SUM)
    with pytest.raises(ValueError, match="does not support `assign_add` in cross-replica context"):
        v.assign_add(1.0)
    with pytest.raises(NotImplementedError, match="doesn't support `scatter_add`"):
        v.scatter_add(tf.IndexedSlices(tf.ones([1]), tf.constant([0])))


def test_variables_that_cannot_be_are_refused(strategy: Any) -> None:
    with strategy.scope():
        with pytest.raises(ValueError, match="aggregation=MEAN and a non-floating dtype"):
            tf.Variable(1, aggregation=A.MEAN)
        with pytest.raises(ValueError, match="`NONE` variable synchronization mode"):
            tf.Variable(1.0, synchronization=S.NONE)


def test_parts_are_written_in_every_copy(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(tf.zeros([3]))
    v[1].assign(5.0)
    v.scatter_nd_add([[2]], [7.0])
    v.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([0])))
    for one in v.values:
        np.testing.assert_array_equal(one.numpy(), [1, 5, 7])


def test_replicas_that_make_a_variable_make_one(strategy: Any) -> None:
    made: list[Any] = []

    def step() -> Any:
        made.append(tf.Variable(number() + 5.0))
        return made[-1] + 0.0

    values = strategy.experimental_local_results(strategy.run(step))
    assert [float(x) for x in values] == [5, 5]
    assert made[0] is made[1]


def test_copies_know_the_variable_they_are_of(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(1.0, name="v")
    assert [one.name for one in v.values] == ["v:0", "v/replica_1:0"]
    assert strategy.extended.value_container(v.values[1]) is v
    assert strategy.extended.variable_created_in_scope(v)
    assert not strategy.extended.variable_created_in_scope(tf.Variable(1.0))
    twin = copy.deepcopy(v)
    twin.assign(2.0)
    assert (copies(v), copies(twin)) == ([1, 1], [2, 2])


def test_checkpoints_are_those_of_plain_variables(strategy: Any, tmp_path: Path) -> None:
    with strategy.scope():
        mirrored = tf.Variable(1.0)
        summed = tf.Variable(0.0, synchronization=S.ON_READ, aggregation=A.SUM)
    strategy.run(lambda: (summed.assign(number() + 2.0), None)[1])
    path = tf.train.Checkpoint(a=mirrored, b=summed).write(str(tmp_path / "c"))
    plain = tf.train.Checkpoint(a=tf.Variable(0.0), b=tf.Variable(0.0))
    plain.read(path).assert_consumed()
    assert (float(plain.a), float(plain.b)) == (1, 5)
    plain.a.assign(4.0)
    path = plain.write(str(tmp_path / "d"))
    tf.train.Checkpoint(a=mirrored, b=summed).read(path).assert_consumed()
    assert (copies(mirrored), copies(summed)) == ([4, 4], [2.5, 2.5])


def test_saved_models_are_those_of_plain_variables(strategy: Any, tmp_path: Path) -> None:
    module = tf.Module()
    with strategy.scope():
        module.v = tf.Variable([1.0, 2.0], aggregation=A.SUM)

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def call(x: Any) -> Any:
        return x * module.v

    @tf.function
    def on_replicas() -> Any:
        return strategy.reduce("SUM", strategy.run(lambda: module.v + 0.0), axis=None)

    module.call, module.on_replicas = call, on_replicas
    np.testing.assert_array_equal(module.on_replicas().numpy(), [2, 4])
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.call(tf.constant([3.0, 4.0])).numpy(), [3, 8])
    assert len(loaded.v.shape) == 1
    loaded.v.assign([5.0, 5.0])
    np.testing.assert_array_equal(loaded.call(tf.constant([3.0, 4.0])).numpy(), [15, 20])
    np.testing.assert_array_equal(loaded.on_replicas().numpy(), [10, 10])


def test_creators_make_variables_the_innermost_first() -> None:
    seen: list[str] = []

    def creator(label: str) -> Any:
        def make(next_creator: Any, **options: Any) -> Any:
            seen.append(f"{label} {options['name']}")
            return next_creator(**{**options, "name": f"{options['name']}_{label}"})

        return make

    with tf.variable_creator_scope(creator("outer")), tf.variable_creator_scope(creator("inner")):
        v = tf.Variable(1.0, name="v")
    assert seen == ["inner v", "outer v_inner"]
    assert v.name == "v_inner_outer:0"
    assert tf.Variable(1.0, name="w").name == "w:0"
    with pytest.raises(TypeError, match="variable_creator must be a function"):
        tf.variable_creator_scope(3).__enter__()


def test_central_storage_has_one_copy_for_all() -> None:
    devices = ["/CPU:0", "/CPU:1"]
    strategy = distribute.experimental.CentralStorageStrategy(devices, "/CPU:0")
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=A.MEAN)
        bare = tf.Variable(1.0)
    strategy.run(lambda: (v.assign_add(number()), None)[1])
    assert float(v) == 1.5
    assert len(v.values) == 1
    with pytest.raises(ValueError, match="You must specify an aggregation method"):
        strategy.run(lambda: bare.assign_add(1.0))
