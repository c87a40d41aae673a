"""The processes of a job: TF_CONFIG and resolvers are compared with MPI."""

import json
import re
import sys
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.distribute import sharding, starting
from pinnace.distribute.clusters import resolver_of

resolvers = tf.distribute.cluster_resolver
WHO = "MultiWorkerMirroredStrategy"


def configured(
    monkeypatch: pytest.MonkeyPatch, kind: str, index: int, **cluster: list[str]
) -> None:
    config = {"cluster": cluster, "task": {"type": kind, "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))


def test_without_a_cluster_processes_are_workers() -> None:
    found = resolver_of(WHO, None, 1, 3)
    assert (found.task_type, found.task_id) == ("worker", 1)
    assert found.cluster_spec().num_tasks("worker") == 3


def test_a_chief_comes_before_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    configured(monkeypatch, "worker", 1, chief=["a:1"], worker=["b:1", "c:1"])
    found = resolver_of(WHO, None, 2, 3)
    assert (found.task_type, found.task_id) == ("worker", 1)
    assert found.master() == "c:1"
    with pytest.raises(ValueError, match="is worker 1, and MPI that it is number 1 of 3"):
        resolver_of(WHO, None, 1, 3)


def test_another_number_of_processes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    configured(monkeypatch, "worker", 0, worker=["a:1", "a:2", "b:1"])
    with pytest.raises(ValueError, match="TF_CONFIG describes 3 processes, and MPI has 1") as told:
        resolver_of(WHO, None, 0, 1)
    assert "mpirun -n 3 --host a:2,b:1 python program.py" in str(told.value)


def test_tasks_that_do_not_train_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    configured(monkeypatch, "evaluator", 0, worker=["a:1"])
    with pytest.raises(ValueError, match="this process is evaluator 0"):
        resolver_of(WHO, None, 0, 1)


@pytest.mark.parametrize("text", ["{", "[1]", "3"])
def test_a_damaged_tf_config_is_told(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ValueError, match=re.escape(f"is '{text}'")):
        resolvers.TFConfigClusterResolver()


def test_a_resolver_is_told_the_cluster() -> None:
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:1"], "ps": {1: "c:1"}})
    assert spec.as_dict() == {"worker": ["a:1", "b:1"], "ps": {1: "c:1"}}
    assert spec.job_tasks("ps") == [None, "c:1"]
    assert spec == tf.train.ClusterSpec(spec)
    found = resolvers.SimpleClusterResolver(spec, "a:1", "worker", 1, rpc_layer="grpc")
    assert found.master() == "grpc://a:1"
    assert found.master("worker", 1) == "grpc://b:1"
    assert resolver_of(WHO, found, 1, 2) is found
    with pytest.raises(ValueError, match="No such job in cluster: 'chief'"):
        spec.num_tasks("chief")
    with pytest.raises(ValueError, match="No task with index 5"):
        spec.task_address("worker", 5)


@pytest.fixture
def without_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    """mpi4py cannot be imported, and no process group exists yet."""
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setattr(starting._started, "processes", None)


@pytest.mark.usefixtures("without_mpi")
def test_several_workers_without_mpi4py_are_told_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    configured(monkeypatch, "worker", 0, worker=["a:1", "b:1"])
    told = r"pip install (-e )?'.*\[mpi\]'\n  and: mpirun -n 2 python"
    with pytest.raises(ImportError, match=told):
        tf.distribute.MultiWorkerMirroredStrategy()


@pytest.mark.usefixtures("without_mpi")
def test_a_launcher_s_processes_without_mpi4py_do_not_each_train_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    with pytest.raises(ImportError, match="joins its processes by MPI"):
        tf.distribute.MultiWorkerMirroredStrategy()


@pytest.mark.usefixtures("without_mpi")
@pytest.mark.parametrize("config", [False, True])
def test_one_worker_needs_no_mpi(config: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if config:
        configured(monkeypatch, "worker", 0, worker=["localhost:1"])
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == 1
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    alike = tf.keras.models.clone_model(model)
    alike.set_weights(model.get_weights())
    alike.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((tf.ones([8, 2]), tf.ones([8, 1]))).batch(4)
    for one in (model, alike):
        one.fit(data, epochs=2, shuffle=False, verbose=0)
    for mine, theirs in zip(model.get_weights(), alike.get_weights(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    ones = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", 1.0))
    assert float(strategy.reduce("sum", ones, axis=None)) == 1.0
    shared = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    assert [x.numpy().tolist() for x in shared] == [[0, 1], [2, 3]]
    assert strategy.gather(tf.constant([1, 2]), axis=0).numpy().tolist() == [1, 2]


# TensorFlow 2.21's `batch_sizes_for_worker`, by its docstring: 7 over 2 workers of 2 replicas.
@pytest.mark.parametrize(("rank", "sizes"), [(0, [2, 2, 2, 1]), (2, [2, 1, 2, 2])])
def test_sizes_of_pieces(rank: int, sizes: list[int]) -> None:
    assert sharding._sizes_for(7, rank, 4) == sizes


class Alone:
    """A process of a job whose other processes have the same amount of data."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def any(self, flag: bool, _: str) -> bool:
        return flag

    def agreed(self, value: Any, _: str) -> Any:
        return value


def shares(dataset: Any, size: int) -> list[Any]:
    found = []
    for rank in range(size):
        stage = sharding.share_of(dataset, Alone(rank, size))  # type: ignore[arg-type]  # a stand-in
        found.append([x.numpy().tolist() for x in tf.data.Dataset(stage)])
    return found


def test_pieces_of_each_batch() -> None:
    # As distributed by TensorFlow 2.21: tests/golden/workers.
    rows = tf.data.Dataset.range(10).batch(4)
    assert shares(rows, 2) == [[[0, 1], [4, 5], [8]], [[2, 3], [6, 7], [9]]]
    assert shares(rows, 3) == [[[0, 1], [4, 5], [8]], [[2, 3], [6, 7], [9]], [[], [], []]]


def test_a_shuffle_is_that_of_the_chief() -> None:
    class Told(Alone):
        told: Any = None

        def agreed(self, value: Any, _: str) -> Any:
            Told.told = value if Told.told is None else Told.told
            return Told.told

    rows = tf.data.Dataset.range(50).shuffle(50).batch(10)
    seen: list[int] = []
    for rank in range(2):
        stage = sharding.share_of(rows, Told(rank, 2))  # type: ignore[arg-type]  # a stand-in
        seen += [row for x in tf.data.Dataset(stage) for row in x.numpy().tolist()]
    assert seen != sorted(seen)
    assert sorted(seen) == list(range(50))


def test_ragged_and_sparse_batches_have_pieces() -> None:
    ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3], []])).batch(3)
    stage = sharding.share_of(ragged, Alone(0, 2))  # type: ignore[arg-type]  # a stand-in
    assert [x.to_list() for x in tf.data.Dataset(stage)] == [[[1], [2, 3]]]
    eye = tf.data.Dataset.from_tensors(tf.sparse.from_dense(tf.eye(3)))
    stage = sharding.share_of(eye, Alone(1, 2))  # type: ignore[arg-type]  # a stand-in
    (found,) = tf.data.Dataset(stage)
    assert tf.sparse.to_dense(found).numpy().tolist() == [[0, 0, 1]]


def test_elements_without_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="Call the `batch` method"):
        shares(tf.data.Dataset.range(3), 2)
