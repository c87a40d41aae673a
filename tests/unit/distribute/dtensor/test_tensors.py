"""Tensors with layouts: their parts, copies, texts, and what is refused."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import pinnace as tf
from pinnace.experimental import dtensor
from unit.distribute.dtensor.meshes import (
    U,
    eight_devices,
    laid_out,
    layout,
    mesh,
    on,
    text_of,
)

__all__ = ["eight_devices"]


def parts_of(array: Any, text: str) -> list[Any]:
    """The part of each device, cut with np.split along one axis after the other."""
    found = []
    for place in np.ndindex(2, 4):
        part = array
        for axis, letter in enumerate(text):
            if letter != ".":
                index, count = ((place[0], 2), (place[1], 4))["xy".index(letter)]
                part = np.split(part, count, axis)[index]
        found.append(part)
    return found


@given(case=laid_out())
def test_parts_are_slices_in_the_order_of_the_devices(case: Any) -> None:
    array, text = case
    tensor = on(array, text)
    found = dtensor.unpack(tensor)
    for part, expected in zip(found, parts_of(array, text), strict=True):
        np.testing.assert_array_equal(part.numpy(), expected)
    assert [part.device for part in found] == mesh().local_devices()
    assert tensor.shape == array.shape


@given(case=laid_out())
def test_pack_undoes_unpack(case: Any) -> None:
    array, text = case
    again = dtensor.pack(parts_of(array, text), layout(text))
    assert text_of(again) == text
    whole = dtensor.relayout(again, layout("." * array.ndim))
    np.testing.assert_array_equal(whole.numpy(), array)


@given(case=laid_out(), other=laid_out())
def test_relayout_keeps_the_value(case: Any, other: Any) -> None:
    array, text = case
    _, wanted = other
    tensor = on(array, text)
    fits = len(wanted) == array.ndim and all(
        letter == "." or size % {"x": 2, "y": 4}[letter] == 0
        for letter, size in zip(wanted, array.shape, strict=False)
    )
    if not fits:
        if "x" in wanted or "y" in wanted or len(wanted) == array.ndim:
            with pytest.raises(tf.errors.InvalidArgumentError, match="requires"):
                dtensor.relayout(tensor, layout(wanted))
        return
    found = dtensor.relayout(tensor, layout(wanted))
    assert text_of(found) == wanted
    for part, expected in zip(dtensor.unpack(found), parts_of(array, wanted), strict=True):
        np.testing.assert_array_equal(part.numpy(), expected)


def test_what_is_divided_has_no_numpy_array() -> None:
    tensor = on(np.ones([4, 4], "f"), "x.")
    for convert in (lambda: tensor.numpy(), lambda: np.asarray(tensor), tensor.__dlpack__):
        with pytest.raises(tf.errors.UnimplementedError, match="unpack"):
            convert()
    np.testing.assert_array_equal(on(np.ones([4, 4], "f"), "..").numpy(), np.ones([4, 4]))


def test_copies_keep_layouts() -> None:
    tensor = on(np.arange(4.0), "x")
    assert copy.deepcopy(tensor) is tensor
    again = pickle.loads(pickle.dumps(tensor))  # noqa: S301 (its own bytes)
    assert text_of(again) == "x"
    assert str(again) == str(tensor)


def test_texts_have_the_parts() -> None:
    line = dtensor.create_mesh([("x", 2)], devices=["CPU:0", "CPU:1"])
    tensor = dtensor.copy_to_mesh(tf.constant([1.5, 2.0]), dtensor.Layout(["x"], line))
    assert str(tensor).startswith('tf.Tensor({"CPU:0": [1.5], "CPU:1": [2]}, layout="sharding_spe')
    assert "CPU:0" in tensor._repr_html_()
    assert "&quot;" in tensor._repr_html_()


@pytest.mark.parametrize(
    ("parts", "text", "error", "words"),
    [
        ([[1.0]] * 7, "x", tf.errors.InvalidArgumentError, "expected 8 inputs .*, but got 7"),
        ([[1.0]] * 7 + [[1.0, 2.0]], "x", tf.errors.UnimplementedError, "the same shape"),
        ([[1.0]] * 7 + [[1]], "x", tf.errors.InternalError, "the same dtype"),
        ([[1.0]] * 8, "x.", tf.errors.InvalidArgumentError, "has rank: 2"),
        ([[float(n)] for n in range(8)], "x", tf.errors.InvalidArgumentError, "devices 0 and 1"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    parts: Any, text: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        dtensor.pack(parts, layout(text))


def test_an_axis_that_cannot_be_divided_is_refused() -> None:
    for make in (
        lambda: on(np.ones([3], "f"), "x"),
        lambda: dtensor.call_with_layout(tf.ones, layout("x"), [3]),
        lambda: dtensor.DVariable(tf.ones([3]), layout=layout("x")),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match="size=3 is not divisible"):
            make()


def test_layouts_are_refused_that_no_tensor_has() -> None:
    with pytest.raises(ValueError, match="z: A dimension sharding must either be a valid mesh"):
        dtensor.Layout(["z"], mesh())
    with pytest.raises(ValueError, match="x was repeated"):
        dtensor.Layout(["x", "x"], mesh())
    with pytest.raises(ValueError, match="the layout has 1 axes"):
        layout("x").num_shards(1)
    with pytest.raises(ValueError, match="a layout is written"):
        dtensor.Layout.from_string("x")
    with pytest.raises(TypeError, match="must be a Layout, got 'x'"):
        dtensor.relayout(tf.ones(2), "x")  # type: ignore[arg-type]


def test_meshes_are_refused_that_do_not_hold_the_devices() -> None:
    with pytest.raises(ValueError, match=r"length of devices \(8\) must be equal .* \[3, 2\]"):
        dtensor.create_mesh([("x", 3), ("y", 2)])
    with pytest.raises(ValueError, match="Conflicting devices"):
        dtensor.create_mesh([("x", 1)], devices=["CPU:0"], device_type="GPU")
    with pytest.raises(ValueError, match="expected name"):
        dtensor.Mesh.from_string("x|y")
    with pytest.raises(ValueError, match="Available dimensions: x,y"):
        mesh().dim_size("z")


def test_two_meshes_do_not_meet() -> None:
    other = dtensor.create_mesh([("x", 8)])
    there = dtensor.copy_to_mesh(tf.ones([8]), dtensor.Layout(["x"], other))
    with pytest.raises(tf.errors.UnknownError, match="must have same mesh configuration"):
        there + on(np.ones([8], "f"), "x")
    both = dtensor.copy_to_mesh(there, layout("x")) + on(np.ones([8], "f"), "x")
    assert text_of(both) == "x"


def test_tensors_without_layouts_are_refused_beside_those_with() -> None:
    tensor = on(np.ones([8], "f"), "x")
    with pytest.raises(tf.errors.UnimplementedError, match="please use copy_to_mesh"):
        tensor + tf.ones([8])
    assert text_of(tensor + 1.0) == "x"
    assert text_of(tf.gather(tensor, [0, 1])) == "."


def test_plain_tensors_stay_plain() -> None:
    on(np.ones([8], "f"), "x")
    plain = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2])) + 1.0
    assert type(plain) is tf.Tensor
    assert not dtensor.is_dtensor(plain)
    assert type(tf.function(lambda x: x * 2)(plain)) is tf.Tensor


def test_a_block_has_a_mesh() -> None:
    with dtensor.default_mesh(mesh()):
        inside = tf.ones([4]) * 2.0
        assert text_of(inside) == "."
        with dtensor.default_mesh(dtensor.create_mesh([("z", 8)])):
            assert dtensor.fetch_layout(tf.zeros([2])).mesh.dim_names == ["z"]  # type: ignore[union-attr]
        assert text_of(tf.zeros([2])) == "."
    assert dtensor.get_default_mesh() is None
    assert not dtensor.is_dtensor(tf.ones([4]) * 2.0)


def test_zeros_and_ones_take_layouts() -> None:
    assert text_of(tf.zeros([4, 4], layout=layout("x."))) == "x."
    assert text_of(tf.ones([4, 4], layout=layout(".y"))) == ".y"
    assert text_of(tf.fill([4], 2.0, layout=layout("x"))) == "x"
    assert text_of(tf.ones_like(on(np.ones([4]), "."), layout=layout("x"))) == "x"


def test_the_accelerator_system_is_begun_once() -> None:
    with pytest.raises(ValueError, match="initialize_accelerator_system"):
        dtensor.create_distributed_mesh([("x", 8)])
    assert dtensor.initialize_accelerator_system("CPU", num_logical_cpu_devices=4) == "CPU"
    try:
        with pytest.raises(ValueError, match="already been initialized"):
            dtensor.initialize_accelerator_system()
        assert dtensor.create_distributed_mesh([("x", 4)]).shape() == [4]
        with pytest.raises(ValueError, match="Global number of devices"):
            dtensor.create_distributed_mesh([("x", 3)])
    finally:
        dtensor.shutdown_accelerator_system()
    with pytest.raises(ValueError, match="not initialized"):
        dtensor.shutdown_accelerator_system()
    with pytest.raises(tf.errors.UnimplementedError, match="there are no TPUs"):
        dtensor.initialize_accelerator_system("TPU")


def test_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DTENSOR_JOBS", "a:1,b:2")
    assert dtensor.num_clients() == 2
    assert dtensor.num_global_devices("CPU") == 16
    with pytest.raises(tf.errors.UnimplementedError, match="MultiWorkerMirroredStrategy"):
        dtensor.initialize_accelerator_system()
    monkeypatch.setenv("DTENSOR_CLIENT_ID", "2")
    with pytest.raises(ValueError, match="must be < 2, got 2"):
        dtensor.client_id()


def test_a_barrier_is_passed() -> None:
    dtensor.barrier(mesh())
    assert dtensor.Layout.replicated(mesh(), 2).sharding_specs == [U, U]
