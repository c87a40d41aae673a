"""CheckpointManager: which checkpoints are kept, and the state file."""

from pathlib import Path

import pytest

from pinnace.checkpoint import Checkpoint, CheckpointManager, latest_checkpoint
from pinnace.checkpoint.state_file import read_state, write_state
from pinnace.framework.variable import Variable


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_old_ones_go(tmp_path: Path) -> None:
    manager = CheckpointManager(Checkpoint(v=Variable(1)), tmp_path, max_to_keep=2)
    paths = [manager.save() for _ in range(4)]
    assert manager.checkpoints == paths[2:] == [str(tmp_path / f"ckpt-{n}") for n in (3, 4)]
    assert manager.latest_checkpoint == paths[3] == latest_checkpoint(tmp_path)
    assert names_in(tmp_path) == [
        "checkpoint",
        "ckpt-3.data-00000-of-00001",
        "ckpt-3.index",
        "ckpt-4.data-00000-of-00001",
        "ckpt-4.index",
    ]


def test_a_new_manager_goes_on_where_the_old_one_was(tmp_path: Path) -> None:
    CheckpointManager(Checkpoint(v=Variable(5)), tmp_path, max_to_keep=3).save()
    v = Variable(0)
    manager = CheckpointManager(Checkpoint(v=v), tmp_path, max_to_keep=3)
    assert manager.restore_or_initialize() == str(tmp_path / "ckpt-1")
    assert int(v) == 5
    assert manager.save() == str(tmp_path / "ckpt-2")
    assert len(manager.checkpoints) == 2


def test_nothing_to_restore_initialises(tmp_path: Path) -> None:
    called: list[bool] = []
    manager = CheckpointManager(
        Checkpoint(), tmp_path / "new", max_to_keep=1, init_fn=lambda: called.append(True)
    )
    assert manager.restore_or_initialize() is None
    assert called == [True]


def test_steps_between_saves(tmp_path: Path) -> None:
    step = Variable(0)
    manager = CheckpointManager(
        Checkpoint(step=step), tmp_path, None, step_counter=step, checkpoint_interval=5
    )
    saved = []
    for n in range(11):
        step.assign(n)
        if manager.save() is not None:
            saved.append(n)
    assert saved == [0, 5, 10]
    assert manager.save() is None
    assert manager.save(check_interval=False) is not None


def test_some_are_kept_for_good(tmp_path: Path) -> None:
    manager = CheckpointManager(
        Checkpoint(v=Variable(1)), tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=0.0
    )
    for _ in range(3):
        manager.save()
    assert len([name for name in names_in(tmp_path) if name.endswith(".index")]) == 3
    assert len(manager.checkpoints) == 1


def test_a_number_of_ones_own(tmp_path: Path) -> None:
    manager = CheckpointManager(
        Checkpoint(v=Variable(1)), tmp_path, max_to_keep=None, checkpoint_name="model"
    )
    assert manager.save(checkpoint_number=Variable(40)) == str(tmp_path / "model-40")
    assert (manager.directory, manager.checkpoint_interval) == (str(tmp_path), None)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        CheckpointManager(Checkpoint(), tmp_path, max_to_keep=0)
    with pytest.raises(ValueError, match="needs a step_counter"):
        CheckpointManager(Checkpoint(), tmp_path, None, checkpoint_interval=3)


def test_paths_elsewhere_stay_whole(tmp_path: Path) -> None:
    other = str(tmp_path / "other" / 'quo"te-1')
    write_state(tmp_path / ".", other, [str(tmp_path / "a-1"), other], [1.5, 2.5], 0.5)
    state = read_state(tmp_path)
    assert state is not None
    assert state.model_checkpoint_path == other
    assert list(state.all_model_checkpoint_paths) == [str(tmp_path / "a-1"), other]
    assert list(state.all_model_checkpoint_timestamps) == [1.5, 2.5]
