"""A process that is told to end saves, ends, and goes on when it is started again."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pinnace as tf
from support import waiting

new: Any = tf.distribute.experimental


@pytest.fixture(autouse=True)
def _own_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def trained(folder: Path, steps: int, told_at: int, **options: Any) -> tuple[float, int, list[str]]:
    value, ended = tf.Variable(0.0), []
    config = new.TerminationConfig(exit_fn=lambda: ended.append("ended"), **options)
    handler = new.PreemptionCheckpointHandler(None, tf.train.Checkpoint(v=value), folder, config)
    for step in range(steps):
        if step == told_at:
            os.kill(os.getpid(), signal.SIGTERM)
        assert handler.run(lambda: value.assign_add(1.0)) is not None
    return float(value), handler.total_run_calls, ended


def test_it_goes_on_from_where_it_ended(tmp_path: Path) -> None:
    assert trained(tmp_path, 3, told_at=2) == (3.0, 3, ["ended"])
    assert trained(tmp_path, 2, told_at=-1) == (5.0, 5, [])


def test_time_that_is_left_is_used(tmp_path: Path) -> None:
    assert trained(tmp_path, 3, told_at=0, grace_period=1000) == (3.0, 3, [])


def test_a_program_may_save_its_own_way(tmp_path: Path) -> None:
    saved = []
    found = trained(tmp_path, 1, told_at=0, save_fn=lambda: saved.append("saved"))
    assert (found[2], saved) == (["ended"], ["saved"])


def test_a_watcher_is_asked(tmp_path: Path) -> None:
    asked = threading.Event()

    def watcher() -> bool:
        asked.set()
        return True

    value, ended = tf.Variable(0.0), []
    config = new.TerminationConfig(watcher, lambda: ended.append("ended"))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=value), tmp_path, 2)
    handler = new.PreemptionCheckpointHandler(None, manager, termination_config=config)
    waiting.until(asked.is_set)

    def step() -> bool:
        with handler.watch_preemption_scope():
            value.assign_add(1.0)
        return bool(ended)

    waiting.until(step)
    assert manager.latest_checkpoint is not None


def test_without_exit_fn_the_process_ends(tmp_path: Path) -> None:
    handler = new.PreemptionCheckpointHandler(None, tf.train.Checkpoint(), tmp_path)
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(SystemExit) as raised:
        handler.run(lambda: None)
    assert raised.value.code == 143


def test_a_checkpoint_wants_a_folder() -> None:
    with pytest.raises(ValueError, match="checkpoint_dir must be given"):
        new.PreemptionCheckpointHandler(None, tf.train.Checkpoint())


def test_a_watcher_that_only_looks() -> None:
    watcher = new.PreemptionWatcher()
    assert watcher.preemption_message is None
    os.kill(os.getpid(), signal.SIGTERM)
    waiting.until(lambda: watcher.preemption_message is not None)
    assert watcher.preemption_message == "signal SIGTERM"
    with pytest.raises(SystemExit):
        watcher.block_until_worker_exit()
