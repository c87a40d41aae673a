"""Views of live and saved objects, Python state, and waiting for new checkpoints."""

import threading
from pathlib import Path

import pytest

import pinnace as tf
from pinnace.framework.errors import InvalidArgumentError


class Leaf(tf.Module):
    def __init__(self, value: float) -> None:
        super().__init__()
        self.a = tf.Variable(value)
        self.b = [tf.Variable(1.0), tf.Variable(2.0)]


def test_live_objects_are_found_once_and_near_ones_first() -> None:
    root = Leaf(1.0)
    root.child = Leaf(2.0)
    root.again = root.child
    view = tf.train.TrackableView(root)
    assert view.root is root
    assert view.children(root)["child"] is root.child
    found = view.descendants()
    assert found[0] is root
    assert len({id(one) for one in found}) == len(found)
    assert sum(one is root.child for one in found) == 1
    del root, found
    with pytest.raises(ReferenceError):
        _ = view.root


def test_saved_objects_are_matched_by_the_names_that_lead_to_them(tmp_path: Path) -> None:
    root = Leaf(1.0)
    root.child = Leaf(2.0)
    path = tf.train.Checkpoint(root).save(str(tmp_path / "c"))
    view = tf.train.CheckpointView(path)
    other = Leaf(5.0)
    other.extra = Leaf(6.0)
    matched = view.match(other)
    assert matched[0] is other
    assert matched[view.children(0)["a"]] is other.a
    both, saved, live = view.diff(other)
    assert both == matched
    assert view.children(0)["child"] in saved
    assert any(one is other.extra for one in live)
    assert not any(one is other.a for one in live)
    assert sorted(view.descendants()) == sorted([*matched, *saved])
    with pytest.raises(InvalidArgumentError, match="node_id"):
        view.children(10_000)


class Counter(tf.train.experimental.PythonState):
    def __init__(self) -> None:
        self.count = 0

    def serialize(self) -> str:
        return str(self.count)

    def deserialize(self, string_value: bytes) -> None:
        self.count = int(string_value)


def test_python_state_is_saved_and_restored(tmp_path: Path) -> None:
    counter = Counter()
    counter.count = 42
    path = tf.train.Checkpoint(counter=counter).save(str(tmp_path / "c"))
    assert ("counter/.ATTRIBUTES/py_state", []) in tf.train.list_variables(path)
    fresh = Counter()
    tf.train.Checkpoint(counter=fresh).restore(path).assert_consumed()
    assert fresh.count == 42


def test_the_state_file_is_told(tmp_path: Path) -> None:
    assert tf.train.get_checkpoint_state(tmp_path) is None
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    paths = [manager.save() for _ in range(3)]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.model_checkpoint_path == paths[-1]
    assert list(state.all_model_checkpoint_paths) == paths[1:]
    assert len(state.all_model_checkpoint_timestamps) == 2


def test_checkpoints_are_given_as_they_come(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    first = checkpoint.save(str(tmp_path / "c"))
    found = tf.train.checkpoints_iterator(tmp_path, timeout=5)
    assert next(found) == first
    timer = threading.Timer(0.1, checkpoint.save, [str(tmp_path / "c")])
    timer.start()
    assert next(found) == str(tmp_path / "c-2")
    timer.join()


def test_waiting_for_checkpoints_ends_when_the_time_is_up(tmp_path: Path) -> None:
    assert list(tf.train.checkpoints_iterator(tmp_path, timeout=0)) == []
    asked: list[int] = []

    def ask() -> bool:
        asked.append(1)
        return len(asked) == 3

    assert list(tf.train.checkpoints_iterator(tmp_path, timeout=0, timeout_fn=ask)) == []
    assert len(asked) == 3
