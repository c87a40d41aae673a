"""DVariables, checkpoints of them, and datasets of tensors with layouts."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.experimental import dtensor
from unit.distribute.dtensor.meshes import eight_devices, layout, mesh, on, text_of

__all__ = ["eight_devices"]


def variable(text: str, value: Any = None, **options: Any) -> Any:
    array = np.arange(32, dtype=np.float32).reshape(4, 8) if value is None else value
    return dtensor.DVariable(on(array, text), **options)


def whole(x: Any) -> Any:
    return dtensor.relayout(x, layout("." * x.ndim)).numpy()


def test_assignments_keep_the_layout() -> None:
    v = variable("x.")
    v.assign(on(np.ones([4, 8], "f"), ".y"))
    v.assign_add(on(np.ones([4, 8], "f"), ".."))
    tf.function(lambda: v.assign_sub(v * 0.25))()
    assert text_of(v) == text_of(v.value()) == "x."
    np.testing.assert_array_equal(whole(v.value()), np.full([4, 8], 1.5))


def test_a_layout_is_asked_for() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="Neither layout nor DTensor"):
        dtensor.DVariable(tf.ones([4]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Conflicting layout"):
        dtensor.DVariable(on(np.ones([4], "f"), "x"), layout=layout("y"))


def test_copies_are_apart() -> None:
    v = variable("x.")
    other = copy.deepcopy(v)
    v.assign(on(np.zeros([4, 8], "f"), ".."))
    assert text_of(other) == "x."
    assert whole(other.value())[0, 1] == 1.0


def test_a_tape_watches_them() -> None:
    v = variable("x.")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v)
    np.testing.assert_array_equal(whole(tape.gradient(loss, v)), 2 * whole(v.value()))


def test_a_checkpoint_is_restored_to_other_layouts(tmp_path: Path) -> None:
    path = dtensor.DTensorCheckpoint(mesh(), v=variable("x.")).write(str(tmp_path / "saved"))
    other = variable(".y", np.zeros([4, 8], "f"))
    tf.train.Checkpoint(v=other).read(path).assert_consumed()
    assert text_of(other.value()) == ".y"
    np.testing.assert_array_equal(whole(other.value()), np.arange(32.0).reshape(4, 8))
    plain = tf.Variable(tf.zeros([4, 8]))
    tf.train.Checkpoint(v=plain).read(path).assert_consumed()
    np.testing.assert_array_equal(plain.numpy(), np.arange(32.0).reshape(4, 8))


def test_a_checkpoint_may_have_fewer_digits(tmp_path: Path) -> None:
    v = variable("x.", np.full([4, 8], 1 / 3, "f"))
    dtensor.enable_save_as_bf16([v])
    path = tf.train.Checkpoint(v=v).write(str(tmp_path / "saved"))
    tf.train.Checkpoint(v=v).read(path).assert_consumed()
    assert v.value().dtype is tf.float32
    np.testing.assert_array_equal(whole(v.value()), np.full([4, 8], 0.33398438, "f"))


def test_tensors_are_saved_by_name(tmp_path: Path) -> None:
    v, t = variable("x."), on(np.arange(8.0), "y")
    path = str(tmp_path / "named")
    dtensor.name_based_save(mesh(), path, {"v": v, "t": t})
    found = dtensor.name_based_restore(mesh(), path, {"t": on(np.zeros(8), "x"), "v": v})
    assert [(name, text_of(one)) for name, one in found.items()] == [("t", "x"), ("v", "x.")]
    np.testing.assert_array_equal(whole(found["t"]), np.arange(8.0))
    with pytest.raises(ValueError, match="must be a DTensor, 't' is"):
        dtensor.name_based_restore(mesh(), path, {"t": tf.zeros(8)})
    with pytest.raises(tf.errors.InvalidArgumentError, match="'t' must be float64"):
        dtensor.name_based_restore(mesh(), path, {"t": on(np.zeros(4), "x")})
    with pytest.raises(tf.errors.InvalidArgumentError, match="whole tensors are written"):
        dtensor.sharded_save(mesh(), path, ["t"], ["8 0,4"], [t])


def test_batches_of_a_dataset_are_divided() -> None:
    rows = np.arange(40.0).reshape(10, 4)
    source = tf.data.Dataset.from_tensor_slices((rows, np.arange(10)))
    divided = dtensor.DTensorDataset(
        source,
        mesh=mesh(),
        layouts=(layout("xy"), layout("x")),
        global_batch_size=4,
        batch_dim="x",
        prefetch=1,
    )
    batches = list(divided)
    assert [text_of(part) for part in batches[0]] == ["xy", "x"]
    np.testing.assert_array_equal([whole(x) for x, _ in batches], rows[:8].reshape(2, 4, 4))
    assert [spec.shape.as_list() for spec in divided.element_spec] == [[4, 4], [4]]
    pieces = source.batch(2, drop_remainder=True)
    again = dtensor.DTensorDataset(
        pieces,
        mesh=mesh(),
        layouts=(layout("x."), layout("x")),
        global_batch_size=4,
        batch_dim="x",
        dataset_already_batched=True,
    )
    np.testing.assert_array_equal([whole(y) for _, y in again], np.arange(8).reshape(2, 4))


def test_datasets_that_do_not_fit_are_refused() -> None:
    source = tf.data.Dataset.range(16)
    for layouts, options, words in (
        (layout("xy"), {}, "Expected layout with rank 1"),
        (layout("y"), {}, "at least one layout did not contain it"),
        (layout("x"), {"dataset_already_batched": True}, "Size of batch dimension"),
    ):
        data = source.batch(4) if options else source
        with pytest.raises(ValueError, match=words):
            dtensor.DTensorDataset(
                data,
                mesh=mesh(),
                layouts=layouts,
                global_batch_size=8,
                batch_dim="x",
                **options,  # type: ignore[arg-type]
            )
    with pytest.raises(NotImplementedError, match=r"tf\.data service"):
        dtensor.DTensorDataset(
            source,
            mesh=mesh(),
            layouts=layout("x"),
            global_batch_size=8,
            tf_data_service_config="here",
        )
