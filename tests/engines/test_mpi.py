"""Multi-process strategies; mpirun starts the processes on this machine, on the loopback device."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.golden import golden

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.engines

PROGRAMS = Path(__file__).parent / "mpi"
MPIRUN = Path(sys.executable).with_name("mpirun")
# Messages between processes stay on this machine (mpirun itself opens a port for other machines,
# which it does not do on a loopback device); root may run it, as in a container. No process is
# bound to a core, since there may be fewer cores than processes.
OPTIONS = ["--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,sm,tcp"]
OPTIONS += ["--mca", "btl_tcp_if_include", "lo"]
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMP_NUM_THREADS": "1",
}
# Longer than any of them takes on a busy machine (seconds).
BOUND_S = 570
SIZES = pytest.mark.parametrize("size", [2, 3])


def mpirun(size: int, program: str | Path, *args: Any) -> subprocess.CompletedProcess[str]:
    command = [MPIRUN, *OPTIONS, "-n", size, sys.executable, PROGRAMS / program, *args]
    return subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )


def answers(size: int, folder: Path, done: subprocess.CompletedProcess[str]) -> list[Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]


# Distribution and sums are those of TensorFlow.


@SIZES
def test_shares_sums_and_variables_are_those_of_tensorflow(size: int, tmp_path: Path) -> None:
    facts = json.loads(golden("workers/facts.json").read_text())[str(size)]
    for number in range(4):
        rows = "".join(f"{number}{row}\n" for row in range(3 + number))
        (tmp_path / f"{number}.txt").write_text(rows)
    found = answers(size, tmp_path, mpirun(size, "shared.py", "pinnace", tmp_path))
    for rank, (ours, theirs) in enumerate(zip(found, facts, strict=True)):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert ours[name] == value, f"{name}, process {rank} of {size}"


# Training.


@pytest.fixture(scope="module", params=[2, 3])
def trained(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], Path]:
    folder = tmp_path_factory.mktemp("training")
    size = request.param
    return answers(size, folder, mpirun(size, "training.py", folder)), folder


def test_gradients_are_those_of_one_process_on_the_whole_batch(trained: Any) -> None:
    for one in trained[0]:
        # Sums in another order: a few ulps of the largest value after three steps.
        assert one["own float64"]["apart"] < 1e-14
        assert one["own uneven"]["apart"] < 1e-14
        assert one["own float32"]["apart"] < 2e-6


def test_all_processes_have_the_same_weights_to_the_last_bit(trained: Any) -> None:
    first, *others = trained[0]
    names = ["own float64", "own float32", "own uneven", "momentum", "adam", "loss scale"]
    for other in others:
        assert [other[name]["weights"] for name in names] == [
            first[name]["weights"] for name in names
        ]
        assert other["drawn"] == first["drawn"]


def test_fit_evaluate_and_predict_are_those_of_one_process(trained: Any) -> None:
    for rank, one in enumerate(trained[0]):
        for name in ("momentum", "adam", "loss scale"):
            found = one[name]
            assert found["apart"] < 2e-6, name
            assert found["history"] < 2e-6, name
            assert found["evaluated"] < 2e-6, name
            assert found["predicted"] < 2e-6, name
            assert found["tells"] == (rank == 0)


def test_every_sample_is_seen_once_in_an_epoch(trained: Any) -> None:
    for name in ("arrays", "dataset"):
        seen = [row for one in trained[0] for row in one[name][0]]
        assert sorted(seen) == list(range(20)), name
        # The rows of the last step, as a mean over the processes: 4 of 20 remain.
        np.testing.assert_allclose(trained[0][0][name][1], [4 / len(trained[0])], rtol=1e-6)


def test_a_callback_of_one_process_stops_all_of_them(trained: Any) -> None:
    *others, last = trained[0]
    assert last["watched"] == 4
    assert [one["watched"] for one in others] == [0] * len(others)
    assert all(one["stopped"] for one in trained[0])


def test_the_chief_writes_for_all(trained: Any) -> None:
    found, folder = trained
    for one in found:
        files = one["files"]
        assert files["loaded"] < 1e-6
        assert files["served"] < 1e-6
        # The metric has the values 0, 1, ... in the processes.
        assert files["mean"] == (len(found) - 1) / 2
        assert files["kept"] == ["ckpt-2"]
    assert len(list((folder / "logs").rglob("events*"))) == 2  # from `fit`, from the program
    assert len((folder / "log.csv").read_text().splitlines()) == 2  # the header, an epoch
    assert not list(folder.rglob("*ckpt-1*"))


def test_the_wrapper_of_tpu_programs_takes_the_mean_over_shards(trained: Any) -> None:
    mean = (len(trained[0]) + 1) / 2
    assert all(one["crossed"] == [-mean, -mean] for one in trained[0])


def test_the_gradients_of_a_step_travel_in_one_buffer(trained: Any) -> None:
    for one in trained[0]:
        exchanges, sent, size = one["step"]
        assert (exchanges, sent) == (1, size)


# How a job ends.

ENDS = {
    "raises": "ValueError: a sample that is no sample",
    "ends": "AbortedError: process 1 of 2 ended, and process 0 of 2 waits for it: the sum of 1",
    "differs": "process 1: a gather over the processes: float32 of rank 1",
}


@pytest.mark.parametrize("how", ENDS)
def test_one_error_ends_all(how: str, tmp_path: Path) -> None:
    done = mpirun(2, "ending.py", how, tmp_path, 0)
    assert done.returncode != 0
    assert ENDS[how] in done.stderr
    assert done.stderr.count("Traceback (most recent call last)") == 1
    assert time.time() - float((tmp_path / "since").read_text()) < 60


def test_a_process_that_is_killed_ends_all(tmp_path: Path) -> None:
    done = mpirun(2, "ending.py", "killed", tmp_path, 0)
    assert done.returncode != 0
    assert "rank 1" in done.stderr
    assert "signal 9 (Killed)" in done.stderr
    assert "Traceback" not in done.stderr
    assert time.time() - float((tmp_path / "since").read_text()) < 60


def test_a_process_that_hangs_is_not_waited_for_longer_than_was_said(tmp_path: Path) -> None:
    # The limit also applies to the start, where processes on a busy machine start one by one.
    done = mpirun(2, "ending.py", "sleeps", tmp_path, 40)
    assert done.returncode != 0
    assert "DeadlineExceededError: process 0 of 2 has waited 40 s for the others" in done.stderr
    assert time.time() - float((tmp_path / "since").read_text()) < 100


def test_a_process_that_never_starts_is_told(tmp_path: Path) -> None:
    done = mpirun(2, "ending.py", "late", tmp_path, 5)
    assert done.returncode != 0
    assert "after 5 s not all 2 processes of the job have started" in done.stderr


def test_training_goes_on_where_a_process_was_killed(tmp_path: Path) -> None:
    killed = mpirun(2, "resuming.py", tmp_path, 3)
    assert killed.returncode != 0
    assert (tmp_path / "backup").is_dir()
    for one in answers(2, tmp_path, mpirun(2, "resuming.py", tmp_path)):
        assert one["epochs"] == [3, 4]
        assert one["apart"] < 2e-6
        assert one["steps"] == 10
        assert not one["left"]


def test_the_example_trains(tmp_path: Path) -> None:
    program = Path(__file__).parents[2] / "examples" / "processes.py"
    done = mpirun(2, program, "--epochs", 1, "--backup", tmp_path / "backup")
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if "the same in all" in line]
    losses = {line.partition("loss ")[2] for line in told}
    assert (len(told), len(losses)) == (2, 1), done.stdout
    assert done.stdout.count("Epoch 1/1") == 1


def test_one_process_is_one_replica() -> None:
    program = (
        "import pinnace as tf\n"
        "s = tf.distribute.MultiWorkerMirroredStrategy()\n"
        "with s.scope(): v = tf.Variable(2.0)\n"
        "context = tf.distribute.get_replica_context\n"
        "print(s.num_replicas_in_sync, float(s.run(lambda: context().all_reduce('SUM', v * 3))))\n"
        "print(s.reduce('MEAN', tf.constant(4.0), axis=None).numpy(), s.cluster_resolver.task_id)\n"
        "rows = tf.data.Dataset.range(5).batch(4)\n"
        "print([x.numpy().tolist() for x in s.experimental_distribute_dataset(rows)])\n"
    )
    command = [sys.executable, "-c", program]
    environment = {**os.environ, **ENVIRONMENT}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert done.stdout.splitlines() == ["1 6.0", "4.0 0", "[[0, 1, 2, 3], [4]]"], done.stderr


def test_a_cluster_of_another_size_is_refused() -> None:
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}
    program = "import pinnace as tf; tf.distribute.MultiWorkerMirroredStrategy()"
    environment = {**os.environ, **ENVIRONMENT, "TF_CONFIG": json.dumps(config)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    assert done.returncode == 1
    assert "TF_CONFIG describes 2 processes, and MPI has 1" in done.stderr
    assert "mpirun -n 2 --host a:1,b:1 python program.py" in done.stderr
