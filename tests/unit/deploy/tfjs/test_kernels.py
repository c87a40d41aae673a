"""Ops that TensorFlow.js' kernels compute wrongly without an error, and their replacements.

The kernels themselves are tested in `tests/edge/test_tfjs.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy import tfjs
from unit.deploy.tfjs.test_exporting import content_of, nodes_of

FLOATS = np.random.default_rng(4).standard_normal([2, 3, 4, 5, 6]).astype(np.float32)
NUMBERS = np.random.default_rng(5).integers(-9, 9, [3, 4, 5]).astype(np.int32)


def written(folder: Path, program: Any, *xs: Any, sizes: bool = True) -> dict[str, list[Any]]:
    """Return the nodes that are written for a function, by op, after comparing their results."""
    specs = [
        tf.TensorSpec(x.shape if sizes else [None] * x.ndim, x.dtype, name=f"x{place}")
        for place, x in enumerate(xs)
    ]
    f = tf.function(program, input_signature=specs)
    tfjs.export(f.get_concrete_function(), folder / "m", verify=False)
    again = tfjs.load(folder / "m").run_arrays({f"x{place}": x for place, x in enumerate(xs)})
    np.testing.assert_allclose(next(iter(again.values())), f(*xs).numpy(), rtol=1e-5, atol=1e-6)
    found: dict[str, list[Any]] = {}
    for node in nodes_of(content_of(folder / "m")):
        found.setdefault(node["op"], []).append(node)
    return found


def masks(node: dict[str, Any]) -> dict[str, int]:
    return {name: int(one["i"]) for name, one in node["attr"].items() if name.endswith("_mask")}


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize("run", [tf.cumsum, tf.math.cumprod])
def test_running_sums_count_axes_from_the_first(tmp_path: Path, run: Any, sizes: bool) -> None:
    x = FLOATS[0, 0]
    for axis in (-1, -2, -3):
        found = written(tmp_path, lambda x, axis=axis: run(x, axis), x, sizes=sizes)
        assert "SelectV2" not in found
    found = written(tmp_path, run, x, np.array(-2, np.int32))
    assert len(found["SelectV2"]) == 1


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[::-1, -2::2, 1],
        lambda x: x[-1, ::2, ::-1],
        lambda x: x[::2, -1],
        lambda x: x[..., ::2, -1],
        lambda x: x[1, tf.newaxis, ..., ::-1],
    ],
)
def test_axes_go_before_there_are_strides(tmp_path: Path, part: Any, sizes: bool) -> None:
    first, second = written(tmp_path, part, FLOATS[0, 0], sizes=sizes)["StridedSlice"]
    assert masks(first)["shrink_axis_mask"]
    assert not masks(second).get("shrink_axis_mask")


def test_slices_that_are_right_stay_one_node(tmp_path: Path) -> None:
    for part in (lambda x: x[1, 2:, -1], lambda x: x[::2, 1:3, ::-1]):
        assert len(written(tmp_path, part, FLOATS[0, 0])["StridedSlice"]) == 1
    assert len(written(tmp_path, lambda x: x[1, 2:, -1], NUMBERS)["StridedSlice"]) == 1


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.bool_])
def test_strides_of_whole_numbers_are_looked_up(tmp_path: Path, kind: Any, sizes: bool) -> None:
    x = NUMBERS.astype(kind)
    found = written(tmp_path, lambda x: x[::-1, 1:3, ::2], x, sizes=sizes)
    assert len(found["GatherV2"]) >= 2
    found = written(tmp_path, lambda x: x[::-2, 0, -1::-1], x, sizes=sizes)
    assert len(found["GatherV2"]) >= 2
    ranges = ["begin_mask", "end_mask"]
    assert all(set(ranges) <= set(node["attr"]) for node in found["StridedSlice"])


@pytest.mark.parametrize("sizes", [True, False])
def test_batches_are_looked_up_in_one_table(tmp_path: Path, sizes: bool) -> None:
    rng = np.random.default_rng(6)
    for batch in (1, 2):
        for axis in range(batch, 4):
            shape = [*FLOATS.shape[:batch], 7]
            ids = rng.integers(0, FLOATS.shape[axis], shape).astype(np.int64)
            found = written(
                tmp_path,
                lambda x, i, axis=axis, batch=batch: tf.gather(x, i, axis=axis, batch_dims=batch),
                FLOATS[..., 0],
                ids,
                sizes=sizes,
            )
            assert all(int(n["attr"]["batch_dims"].get("i", 0)) == 0 for n in found["GatherV2"])


def test_as_many_places_as_batches_stay_one_node(tmp_path: Path) -> None:
    ids = np.array([[0, 2], [1, 1]], np.int32)
    found = written(
        tmp_path, lambda x, i: tf.gather(x, i, batch_dims=1), FLOATS[:, :, 0, 0, 0], ids
    )
    (node,) = found["GatherV2"]
    assert int(node["attr"]["batch_dims"]["i"]) == 1


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_maximum_of_volumes_is_two_of_pictures(tmp_path: Path, padding: str, sizes: bool) -> None:
    found = written(
        tmp_path,
        lambda x: tf.nn.max_pool3d(x, [2, 2, 1], [1, 2, 2], padding),
        -np.abs(FLOATS),
        sizes=sizes,
    )
    assert len(found["MaxPool"]) == 2
    assert "MaxPool3D" not in found


@pytest.mark.parametrize("sizes", [True, False])
def test_what_no_window_reaches_is_cut_off(tmp_path: Path, sizes: bool) -> None:
    kernel = tf.constant(np.random.default_rng(7).standard_normal([1, 2, 1, 6, 2]), tf.float32)
    for window in (
        lambda x: tf.nn.avg_pool3d(x, [1, 2, 1], [2, 2, 3], "SAME"),
        lambda x: tf.nn.conv3d(x, kernel, [1, 3, 3, 3, 1], "SAME"),
    ):
        assert len(written(tmp_path, window, FLOATS, sizes=sizes)["Slice"]) == 1
    whole = written(tmp_path, lambda x: tf.nn.avg_pool3d(x, 2, 2, "SAME"), FLOATS, sizes=sizes)
    assert "Slice" not in whole


def test_bools_are_moved_as_numbers(tmp_path: Path) -> None:
    test, x, y = NUMBERS > 0, NUMBERS > 3, NUMBERS < -3
    for program in (
        lambda t, x, y: tf.where(t, x, y),
        lambda t, x, y: tf.reverse(x, [0, 2]) & y & t,
        lambda t, x, y: tf.one_hot(tf.cast(t, tf.int32), 3, True, False) | (x & y)[..., None],
    ):
        found = written(tmp_path, program, test, x, y)
        assert any(node["attr"]["DstT"]["type"] == "DT_BOOL" for node in found["Cast"])


def test_limits_of_whole_numbers_are_a_minimum_and_a_maximum(tmp_path: Path) -> None:
    found = written(
        tmp_path,
        lambda x: tf.raw_ops.ClipByValue(t=x, clip_value_min=-2, clip_value_max=3),
        NUMBERS,
    )
    assert "ClipByValue" not in found
    assert {"Minimum", "Maximum"} <= set(found)


@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int64])
def test_numbers_are_true_by_a_comparison(tmp_path: Path, kind: Any) -> None:
    x = (NUMBERS * 0.25).astype(kind)
    for program in (lambda x: tf.cast(x, tf.bool), tf.where):
        found = written(tmp_path, program, x)
        assert len(found["NotEqual"]) == 1
        assert "Cast" not in found
