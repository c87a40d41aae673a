"""StableHLO operators: compared with LiteRT, or with TensorFlow where LiteRT has no kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pinnace.deploy import lite
from pinnace.deploy.lite.ir.model import Operator, Quantization, Subgraph, Tensor
from pinnace.deploy.lite.reading.saving import functions_of
from pinnace.deploy.lite.verification.interpreting import WAYS, Interpreter
from pinnace.framework import dtypes
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.shapes import Shape
from support.golden import golden
from unit.deploy.lite.test_reading import compare, file_of, tensor

pytest.importorskip("ai_edge_litert")


def of(name: str, dtype: Any, *shape: int) -> Tensor:
    return Tensor(name, dtype, Shape(shape))


def joined(kind: str, dtype: Any = dtypes.float32) -> Subgraph:
    """A region with two scalar arguments."""
    x, y, z = (of(f"{kind}_{name}", dtype) for name in "xyz")
    return Subgraph(kind, [x, y], [z], [Operator(kind, [x, y], [z])])


def here(content: bytes, **feeds: Any) -> dict[str, Any]:
    return functions_of(content, "the file")[0]["serving_default"].run_arrays(feeds)


def test_what_litert_does_not_run_gives_what_tensorflow_did() -> None:
    file = np.load(golden("lite/stablehlo_others.npz"))
    function = lite.load(golden("lite/stablehlo_others.tflite"))["serving_default"]
    found = function.run_arrays({one[3:]: file[one] for one in file if one.startswith("in/")})
    wanted = {one[4:]: file[one] for one in file if one.startswith("out/")}
    assert set(found) == set(wanted)
    for name, right in wanted.items():
        assert found[name].dtype == right.dtype
        np.testing.assert_allclose(found[name], right, rtol=2e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("low", "high", "inner"), [([1, 0], [2, 3], [0, 0]), ([0, 1], [-1, 0], [2, 1])]
)
def test_padding(low: list[int], high: list[int], inner: list[int]) -> None:
    sizes = [n + a + b + (n - 1) * c for n, a, b, c in zip((3, 4), low, high, inner, strict=True)]
    options = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": inner}
    inputs: list[Tensor | None] = [tensor("x", 3, 4), tensor("v", data=np.float32(2.5).reshape(()))]
    compare(file_of("STABLEHLO_PAD", inputs, [tensor("out", *sizes)], options))


@pytest.mark.parametrize(
    ("sizes", "offsets", "collapsed", "shape"),
    [([1, 1, 3], [1], [0, 1], (2, 3)), ([1, 2, 2], [1, 2, 3], [], (2, 1, 2, 2))],
    ids=["rows", "parts"],
)
def test_gathering_clamps_places(
    sizes: list[int], offsets: list[int], collapsed: list[int], shape: tuple[int, ...]
) -> None:
    places = np.array([[0, 2], [9, -4]], np.int32)
    inputs: list[Tensor | None] = [tensor("x", 4, 5, 3), tensor("i", data=places)]
    options = {
        "offset_dims": offsets,
        "collapsed_slice_dims": collapsed,
        "start_index_map": [0, 1],
        "index_vector_dim": 1,
        "slice_sizes": sizes,
    }
    compare(file_of("STABLEHLO_GATHER", inputs, [tensor("out", *shape)], options))


@pytest.mark.parametrize("kind", ["ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"])
def test_scattering_joins_what_meets(kind: str) -> None:
    places = np.array([[1], [3], [1]], np.int32)
    inputs: list[Tensor | None] = [tensor("x", 4, 3), tensor("i", data=places), tensor("u", 3, 3)]
    options = {
        "update_window_dims": [1],
        "inserted_window_dims": [0],
        "scatter_dims_to_operand_dims": [0],
        "index_vector_dim": 1,
        "update_computation_subgraph_index": joined(f"STABLEHLO_{kind}"),
    }
    compare(file_of("STABLEHLO_SCATTER", inputs, [tensor("out", 4, 3)], options))


@pytest.mark.parametrize("kind", ["ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"])
def test_windows_of_stablehlo(kind: str) -> None:
    start = {"ADD": 0.0, "MULTIPLY": 1.0, "MAXIMUM": -np.inf, "MINIMUM": np.inf}[kind]
    options = {
        "window_dimensions": [2, 2],
        "window_strides": [2, 1],
        "base_dilations": [1, 2],
        "window_dilations": [1, 2],
        "padding": [1, 0, 0, 1],
        "body_subgraph_index": joined(f"STABLEHLO_{kind}"),
    }
    inputs: list[Tensor | None] = [tensor("x", 5, 4), tensor("v", data=np.array(start, np.float32))]
    compare(file_of("STABLEHLO_REDUCE_WINDOW", inputs, [tensor("out", 3, 6)], options))


@pytest.mark.parametrize("function", [1, 2, 3, 4])
def test_windows_of_litert_s_own(function: int) -> None:
    start = {1: 0.0, 2: 1.0, 3: np.inf, 4: -np.inf}[function]
    numbers = (np.array(one, np.int64) for one in ([2, 2], [2, 1], [1, 2]))
    inputs: list[Tensor | None] = [tensor("x", 5, 4), tensor("v", data=np.array(start, np.float32))]
    inputs += [tensor(f"n{place}", data=one) for place, one in enumerate(numbers)]
    options = {"reduce_function": function}
    compare(file_of("REDUCE_WINDOW", inputs, [tensor("out", 2, 2)], options))


@pytest.mark.parametrize("algorithm", [0, 1, 2])
@pytest.mark.parametrize("dtype", [dtypes.uint32, dtypes.int32, dtypes.uint64], ids=str)
def test_random_bits_are_those_of_litert(algorithm: int, dtype: Any) -> None:
    words = 2 if algorithm == 2 else 3
    state = np.arange(7, 7 + words, dtype=np.uint64) << 33
    inputs: list[Tensor | None] = [of("state", dtypes.uint64, words)]
    outputs = [of("after", dtypes.uint64, words), of("bits", dtype, 3, 4)]
    content = file_of("STABLEHLO_RNG_BIT_GENERATOR", inputs, outputs, {"algorithm": algorithm})
    wanted = Interpreter(content, WAYS[1]).run({"state": state})
    found = here(content, state=state)
    for name, right in wanted.items():
        np.testing.assert_array_equal(found[name], right, err_msg=name)


def test_truths() -> None:
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    inputs: list[Tensor | None] = [of("x", dtypes.bool, 4), of("y", dtypes.bool, 4)]
    content = file_of("STABLEHLO_AND", inputs, [of("out", dtypes.bool, 4)])
    wanted = Interpreter(content, WAYS[1]).run({"x": x, "y": y})["out"]
    assert here(content, x=x, y=y)["out"].tolist() == wanted.tolist() == (x & y).tolist()


def test_others_by_their_formulas() -> None:
    x = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    inputs: list[Tensor | None] = [tensor("x", 4, 3)]
    bounds = [tensor(name, data=np.array(n, np.float32)) for name, n in (("a", -0.5), ("b", 0.3))]
    out = [tensor("out", 4, 3)]
    found = here(file_of("STABLEHLO_CLAMP", [bounds[0], *inputs, bounds[1]], out), x=x)
    np.testing.assert_array_equal(found["out"], x.clip(-0.5, np.float32(0.3)))
    found = here(file_of("STABLEHLO_CBRT", inputs, out), x=x)
    np.testing.assert_allclose(found["out"], np.cbrt(x), rtol=1e-5)
    places = [tensor(name, data=np.array(n, np.int32)) for name, n in (("i", 9), ("j", 1))]
    part = np.full((2, 2), 7, np.float32)
    given = [*inputs, tensor("part", data=part), *places]
    found = here(file_of("STABLEHLO_DYNAMIC_UPDATE_SLICE", given, out), x=x)
    wanted = x.copy()
    wanted[2:4, 1:3] = part
    np.testing.assert_array_equal(found["out"], wanted)
    less = joined("STABLEHLO_COMPARE")
    less.operators[0].options |= {"comparison_direction": 5, "compare_type": 1}
    less.outputs[0].dtype = dtypes.bool
    options = {"dimension": 0, "is_stable": True, "comparator_subgraph_index": less}
    found = here(file_of("STABLEHLO_SORT", inputs, out, options), x=x)
    np.testing.assert_array_equal(found["out"], np.sort(x, 0))


def test_whole_numbers_that_stand_for_real_ones_are_refused() -> None:
    how = Quantization((0.5,), (0,))
    x, y, z = (Tensor(name, dtypes.int8, Shape([2]), None, how) for name in "xyz")
    with pytest.raises(
        UnimplementedError, match="STABLEHLO_ADD: its tensors have TensorFlow Lite's"
    ):
        functions_of(file_of("STABLEHLO_ADD", [x, y], [z]), "the file")


def test_a_loop_is_refused_by_name() -> None:
    x, y, p = tensor("x", 2), tensor("y", 2), Tensor("p", dtypes.bool, Shape([]))
    options = {
        "cond_subgraph_index": Subgraph("goes_on", [x], [p]),
        "body_subgraph_index": Subgraph("turn", [x], [x]),
    }
    with pytest.raises(UnimplementedError, match="TFLiteConverter drops the values"):
        functions_of(file_of("STABLEHLO_WHILE", [tensor("z", 2)], [y], options), "the file")
