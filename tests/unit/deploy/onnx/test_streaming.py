"""Files written weight by weight: every parser reads the intended message."""

import io
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from pinnace.deploy.onnx.files.outline import outline
from pinnace.deploy.onnx.files.streaming import ALIGNMENT, Draft, write_aside, write_whole
from pinnace.deploy.onnx.ir.graph import Value
from pinnace.deploy.program import mapped_weights
from pinnace.framework.dtypes import from_numpy
from pinnace.framework.errors import DataLossError
from pinnace.framework.shapes import Shape
from unit.deploy.onnx.one_op import Array

KINDS = [np.float32, np.float64, np.float16, np.int64, np.int8, np.uint8, np.bool_]


def skeleton(names: list[str]) -> onnx.ModelProto:
    """A message with every weight once."""
    nodes = [helper.make_node("Identity", [name], [f"{name}_out"]) for name in names]
    graph = helper.make_graph(nodes, "all", [], [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def draft_of(arrays: dict[str, Array]) -> Draft:
    weights = [
        Value(name, from_numpy(array.dtype), Shape.of(array.shape), array)
        for name, array in arrays.items()
    ]
    return Draft(skeleton(list(arrays)), weights)


@st.composite
def weights(draw: st.DrawFn) -> dict[str, Array]:
    """Arrays of every size and order, with names of every length."""
    found = {}
    for index in range(draw(st.integers(0, 5))):
        shape = draw(st.lists(st.integers(0, 40), max_size=4).map(tuple))
        array = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 97
        array = array.astype(draw(st.sampled_from(KINDS)))
        if array.ndim > 1 and draw(st.booleans()):
            array = array.transpose(draw(st.permutations(range(array.ndim))))
        if array.ndim and draw(st.booleans()):
            array = array[::-1]
        found[f"{'w' * draw(st.integers(1, 200))}/ä{index}"] = array
    return found


def written(draft: Draft) -> bytes:
    file = io.BytesIO()
    write_whole(file, draft)
    return file.getvalue()


@given(weights())
def test_onnx_reads_what_was_written(arrays: dict[str, Array]) -> None:
    draft = draft_of(arrays)
    model = onnx.ModelProto.FromString(written(draft))
    assert [tensor.name for tensor in model.graph.initializer] == list(arrays)
    for tensor in model.graph.initializer:
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), arrays[tensor.name])
    del model.graph.initializer[:]
    assert model == draft.skeleton


@given(weights())
def test_an_outline_refers_to_the_same_bytes(arrays: dict[str, Array]) -> None:
    content = written(draft_of(arrays))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(content)
        model = outline(path, "elsewhere")
    for tensor in model.graph.initializer:
        array = arrays[tensor.name]
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            facts = {entry.key: entry.value for entry in tensor.external_data}
            assert facts["location"] == "elsewhere"
            at, length = int(facts["offset"]), int(facts["length"])
            assert at % ALIGNMENT == 0
            tensor.ClearField("data_location")
            del tensor.external_data[:]
            tensor.raw_data = content[at : at + length]
        else:
            assert array.nbytes <= 1024
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), array)


@given(weights())
def test_weights_beside_the_file_are_found(arrays: dict[str, Array]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (folder / "m.data").open("wb") as file:
            model = write_aside(file, draft_of(arrays), "m.data")
        onnx.save(model, folder / "m.onnx")
        loaded = onnx.load(folder / "m.onnx")
    for tensor in loaded.graph.initializer:
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), arrays[tensor.name])


@given(
    st.lists(st.integers(1, 12), min_size=2, max_size=4),
    st.permutations(range(4)),
    st.integers(1, 4096),
    st.sampled_from([np.float32, np.float16]),
    st.booleans(),
)
def test_a_factor_is_multiplied_in_on_the_way(
    sizes: list[int], order: list[int], piece: int, kind: type, one: bool
) -> None:
    rng = np.random.default_rng(sum(sizes))
    axes = [axis for axis in order if axis < len(sizes)]
    array = rng.standard_normal(sizes).astype(kind).transpose(axes)
    factor = rng.standard_normal((1 if one else len(array), *[1] * (array.ndim - 1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped_weights, "PIECE", piece)
        parts = [part.copy() for part in mapped_weights.pieces(array, factor)]
    wanted = (array.astype(np.float64) * factor).astype(kind)
    np.testing.assert_array_equal(np.concatenate(parts), wanted.reshape(-1))


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.permutations(range(4)),
    st.integers(1, 6),
    st.integers(1, 2),
)
def test_a_copy_in_another_order_is_that_array(
    sizes: list[int], order: list[int], tile: int, step: int
) -> None:
    axes = [axis for axis in order if axis < len(sizes)]
    array = np.arange(np.prod(sizes)).reshape(sizes).transpose(axes)[::step]
    target = np.full(array.shape, -1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped_weights, "_TILE", tile)
        mapped_weights.copy(target, array)
    np.testing.assert_array_equal(target, array)


def test_the_same_weights_give_the_same_bytes() -> None:
    arrays = {"a": np.ones((50, 60), np.float32).T, "b": np.arange(3)}
    assert written(draft_of(arrays)) == written(draft_of(arrays))


@pytest.mark.parametrize("cut", [1, 7, 100, 3000])
def test_a_file_that_is_cut_off_is_told(tmp_path: Path, cut: int) -> None:
    content = written(draft_of({"a": np.ones((50, 60), np.float32)}))
    path = tmp_path / "m.onnx"
    path.write_bytes(content[:-cut])
    with pytest.raises(DataLossError, match=r"truncated|does not end"):
        outline(path, "m.onnx")
