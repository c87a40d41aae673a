"""Checkpoint: values are found by the names of children, also of those created later."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinnace.checkpoint import (
    Checkpoint,
    CheckpointOptions,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from pinnace.framework.errors import DataLossError, InvalidArgumentError, NotFoundError
from pinnace.framework.module import Module
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable
from pinnace.storage.bundle_writer import BundleWriter

VALUE = ".ATTRIBUTES/VARIABLE_VALUE"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Model(Module):
    def __init__(self, value: float = 0.0) -> None:
        super().__init__()
        self.w = Variable(np.full(3, value, np.float32), name="w")
        self.parts = [Variable(value, name="first"), {"a.b/c": Variable(value, name="odd")}]


def test_values_come_back(tmp_path: Path) -> None:
    path = Checkpoint(model=Model(3.0), step=Variable(7)).save(tmp_path / "ckpt")
    model, step = Model(), Variable(0)
    status = Checkpoint(model=model, step=step).restore(path)
    status.assert_consumed().assert_existing_objects_matched().assert_nontrivial_match()
    status.expect_partial().initialize_or_restore()
    assert model.w.numpy().tolist() == [3.0] * 3
    assert float(model.parts[1]["a.b/c"]) == 3.0
    assert int(step) == 7


def test_the_keys_are_tensorflows(tmp_path: Path) -> None:
    path = Checkpoint(model=Model(), step=Variable(7)).save(tmp_path / "ckpt")
    assert list_variables(path) == [
        ("_CHECKPOINTABLE_OBJECT_GRAPH", []),
        (f"model/parts/0/{VALUE}", []),
        (f"model/parts/1/a..b.Sc/{VALUE}", []),
        (f"model/w/{VALUE}", [3]),
        (f"save_counter/{VALUE}", []),
        (f"step/{VALUE}", []),
    ]


def test_saves_are_counted_and_the_latest_is_noted(tmp_path: Path) -> None:
    checkpoint = Checkpoint(v=Variable(1))
    assert checkpoint.save(tmp_path / "c") == str(tmp_path / "c-1")
    assert checkpoint.save(tmp_path / "c") == str(tmp_path / "c-2")
    assert latest_checkpoint(tmp_path) == str(tmp_path / "c-2")
    assert 'model_checkpoint_path: "c-2"' in (tmp_path / "checkpoint").read_text()
    again = Checkpoint(v=Variable(0))
    again.restore(tmp_path / "c-2").assert_consumed()
    assert again.save(tmp_path / "c") == str(tmp_path / "c-3")


def test_writing_does_not_count(tmp_path: Path) -> None:
    checkpoint = Checkpoint(v=Variable(1))
    assert checkpoint.write(tmp_path / "here") == str(tmp_path / "here")
    assert not (tmp_path / "checkpoint").exists()
    assert len(list_variables(tmp_path / "here")) == 2
    other = Checkpoint(v=Variable(0))
    other.read(tmp_path / "here").assert_consumed()
    assert int(other.v) == 1


def test_the_children_of_a_root_stand_at_the_top(tmp_path: Path) -> None:
    path = Checkpoint(root=Model(2.0), step=Variable(1)).save(tmp_path / "r")
    assert f"w/{VALUE}" in dict(list_variables(path))
    model = Model()
    Checkpoint(root=model, step=Variable(0)).restore(path).assert_consumed()
    assert model.w.numpy().tolist() == [2.0] * 3
    with pytest.raises(ValueError, match="the root has another child 'w'"):
        Checkpoint(root=model, w=Variable(0))


def test_children_that_come_later_get_their_values_then(tmp_path: Path) -> None:
    path = Checkpoint(model=Model(5.0), step=Variable(7)).save(tmp_path / "ckpt")
    late = Checkpoint()
    status = late.restore(path)
    with pytest.raises(AssertionError, match="has 4 values that no object took"):
        status.assert_consumed()
    late.model = Module()
    late.model.w = Variable([0.0, 0.0, 0.0])
    late.model.parts = []
    late.model.parts.append(Variable(0.0))
    late.model.parts.append({})
    late.model.parts[1]["a.b/c"] = Variable(0.0)
    late.step = Variable(0)
    status.assert_consumed()
    assert late.model.w.numpy().tolist() == [5.0] * 3
    assert [float(late.model.parts[0]), float(late.model.parts[1]["a.b/c"])] == [5.0, 5.0]
    assert int(late.step) == 7


def test_a_value_comes_late_once_only(tmp_path: Path) -> None:
    path = Checkpoint(v=Variable(5.0)).save(tmp_path / "ckpt")
    late = Checkpoint()
    late.restore(path)
    late.v = Variable(0.0)
    assert float(late.v) == 5.0
    late.v = Variable(0.0)
    assert float(late.v) == 0.0


def test_a_variable_without_a_value_is_told(tmp_path: Path) -> None:
    path = Checkpoint(v=Variable(5.0)).save(tmp_path / "ckpt")
    status = Checkpoint(v=Variable(0.0), more=Variable(0.0)).restore(path)
    for ask in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match=r"no value for 1 variables: 'more'"):
            ask()
    with pytest.raises(AssertionError, match="nothing matches; stored are 'v', 'save_counter'"):
        Checkpoint(other=Variable(0.0)).read(path).assert_nontrivial_match()


def test_a_value_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = Checkpoint(v=Variable([1.0, 2.0], name="v")).save(tmp_path / "ckpt")
    with pytest.raises(InvalidArgumentError, match=r"has shape \[2\], variable 'v:0' has \[3\]"):
        Checkpoint(v=Variable([0.0, 0.0, 0.0], name="v")).restore(path)
    with pytest.raises(InvalidArgumentError, match="is float32, variable 'v:0' is int32"):
        Checkpoint(v=Variable([1, 2], name="v")).restore(path)


def test_a_missing_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        Checkpoint().restore(tmp_path / "nowhere")
    with pytest.raises(NotFoundError, match="there is no checkpoint in"):
        load_checkpoint(tmp_path)
    assert latest_checkpoint(tmp_path) is None


def test_none_restores_nothing() -> None:
    status = Checkpoint(v=Variable(1.0)).restore(None)
    with pytest.raises(AssertionError, match="no checkpoint was given"):
        status.assert_consumed()


def test_a_state_file_that_is_damaged_is_named(tmp_path: Path) -> None:
    for text in ("nonsense {", "", "\xff"):
        (tmp_path / "checkpoint").write_text(text, "latin-1")
        with pytest.raises(DataLossError, match=str(tmp_path / "checkpoint")):
            latest_checkpoint(tmp_path)


def test_names_of_tensorflow_1_are_found_too(tmp_path: Path) -> None:
    with BundleWriter(tmp_path / "old") as bundle:
        bundle.add("layer/w", np.ones(3, np.float32))
    model = Model()
    model.w = Variable(np.zeros(3, np.float32), name="layer/w")
    status = Checkpoint(model=model).read(tmp_path / "old")
    assert model.w.numpy().tolist() == [1.0] * 3
    with pytest.raises(AssertionError, match="no value for 2 variables"):
        status.assert_consumed()


def test_what_has_its_own_tensors_is_asked_for_them(tmp_path: Path) -> None:
    class Table(Trackable):
        def __init__(self, keys: list[int]) -> None:
            self.held = np.array(keys)

        def _serialize_to_tensors(self) -> dict[str, Any]:
            return {"-keys": self.held}

        def _restore_from_tensors(self, restored: dict[str, Any]) -> None:
            self.held = restored["-keys"]

    path = Checkpoint(table=Table([1, 2])).save(tmp_path / "t")
    assert dict(list_variables(path))["table/.ATTRIBUTES/-keys"] == [2]
    table = Table([])
    Checkpoint(table=table).restore(path).assert_consumed()
    assert table.held.tolist() == [1, 2]


def test_only_objects_with_children_can_be_saved() -> None:
    with pytest.raises(ValueError, match=r"'v' must be a Module, a Variable .* got int"):
        Checkpoint(v=3)


def test_tensors_are_read_without_objects(tmp_path: Path) -> None:
    path = Checkpoint(v=Variable([1.0, 2.0])).write(tmp_path / "c")
    reader = load_checkpoint(path)
    assert reader.has_tensor(f"v/{VALUE}")
    assert reader.get_variable_to_shape_map()[f"v/{VALUE}"] == [2]
    assert reader.get_variable_to_dtype_map()[f"v/{VALUE}"].name == "float32"
    assert load_variable(path, f"v/{VALUE}").tolist() == [1.0, 2.0]
    assert f"v/{VALUE} (float32) [2]".encode() in reader.debug_string()
    with pytest.raises(NotFoundError, match="has no tensor 'w'"):
        reader.get_tensor("w")


def test_options(tmp_path: Path) -> None:
    paths: list[str] = []
    options = CheckpointOptions(
        experimental_write_callbacks=(paths.append, lambda: paths.append("done")),
        max_shard_bytes=64,
    )
    Checkpoint(a=Variable([1.0] * 20), b=Variable([2.0] * 20)).write(tmp_path / "c", options)
    assert paths == [str(tmp_path / "c"), "done"]
    assert len([name for name in names_in(tmp_path) if ".data-" in name]) > 1


def test_a_saved_model_can_be_restored_from(tmp_path: Path) -> None:
    from pinnace import saved_model

    saved_model.save(Model(4.0), tmp_path / "model")
    model = Model()
    Checkpoint(root=model).read(tmp_path / "model").assert_existing_objects_matched()
    assert model.w.numpy().tolist() == [4.0] * 3
