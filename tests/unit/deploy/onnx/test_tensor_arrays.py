"""TensorArrays of TensorFlow 1: in models that it wrote, and in functions of their ops."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.functions.tracing import trace
from pinnace.graph.graph import FunctionRef
from unit.deploy.onnx.networks import op, traced
from unit.deploy.onnx.one_op import run_model
from unit.deploy.onnx.test_golden import GOLDEN, compare, recorded

ROWS = TensorSpec([None, 3], np.float32, name="x")
COUNT = TensorSpec([], np.int32, name="count")
SCALAR = TensorSpec([], np.int32)
FLOW = TensorSpec([], np.float32)
HANDLE = TensorSpec([], "resource")
FLAG = TensorSpec([], np.bool_, name="flag")


def test_map_and_scan_give_what_tensorflow_gave() -> None:
    signature = tf.saved_model.load(str(GOLDEN / "v1_mapped" / "model")).signatures[
        "serving_default"
    ]

    def numbers(x: Any) -> Any:
        found = signature(words=tf.constant(["one"]), x=x)
        return found["doubled"], found["sums"]

    spec = TensorSpec([None, 2], np.float32, name="x")
    report = export(tf.function(numbers).get_concrete_function(spec))
    assert report.op_counts["Loop"] == 2
    for inputs, outputs in recorded("v1_mapped", "serving_default"):
        doubled, sums = run_model(report, [inputs["x"]])
        compare(doubled, outputs["doubled"])
        compare(sums, outputs["sums"])


def array(size: Any, element: Any, **attrs: Any) -> Any:
    return op(
        "TensorArrayV3", size, dtype=tf.float32, element_shape=tf.TensorShape(element), **attrs
    )


def ref(function: Any, *specs: TensorSpec) -> FunctionRef:
    graph = trace(function, specs, {}, function.__name__)[0].graph
    return FunctionRef(graph.name, graph)


def looped(step: Any, count: Any, handle: Any, flow: Any, x: Any) -> Any:
    """The flow after a loop over 0 .. count - 1 with `step(i, handle, flow, x) -> flow`."""

    def test(i: Any, n: Any, handle: Any, flow: Any, x: Any) -> Any:
        del handle, flow, x
        return op("Less", i, n)

    def body(i: Any, n: Any, handle: Any, flow: Any, x: Any) -> Any:
        return op("AddV2", i, np.int32(1)), n, handle, step(i, handle, flow, x), x

    specs = (SCALAR, SCALAR, HANDLE, FLOW, TensorSpec([None, 3], np.float32))
    start = [np.int32(0), count, handle, flow, x]
    return op("While", start, cond=ref(test, *specs), body=ref(body, *specs))[3]


def everything(handle: Any, flow: Any, element: Any) -> Any:
    places = op("Range", np.int32(0), op("TensorArraySizeV3", handle, flow), np.int32(1))
    return op(
        "TensorArrayGatherV3",
        handle,
        places,
        flow,
        dtype=tf.float32,
        element_shape=tf.TensorShape(element),
    )


def growing(x: Any, count: Any) -> Any:
    handle, flow = array(np.int32(0), [3], dynamic_size=True)

    def step(i: Any, handle: Any, flow: Any, x: Any) -> Any:
        return op("TensorArrayWriteV3", handle, i, x[0] * op("Cast", i, DstT=tf.float32), flow)

    return everything(handle, looped(step, count, handle, flow, x), [3])


def backwards(x: Any, count: Any) -> Any:
    """An array that a loop writes from its end, and two of its elements."""
    handle, flow = array(count, [3])

    def step(i: Any, handle: Any, flow: Any, x: Any) -> Any:
        value = x[0] + op("Cast", i, DstT=tf.float32)
        return op("TensorArrayWriteV3", handle, 4 - i, value, flow)

    flow = looped(step, count, handle, flow, x)
    places = np.int32([3, 1])
    found = op(
        "TensorArrayGatherV3",
        handle,
        places,
        flow,
        dtype=tf.float32,
        element_shape=tf.TensorShape([3]),
    )
    one = op("TensorArrayReadV3", handle, np.int32(2), flow, dtype=tf.float32)
    return found, one, op("TensorArraySizeV3", handle, flow)


def joined(x: Any, count: Any) -> Any:
    handle, flow = array(count, [None, 3])

    def step(i: Any, handle: Any, flow: Any, x: Any) -> Any:
        return op("TensorArrayWriteV3", handle, i, x[: i + 1], flow)

    flow = looped(step, count, handle, flow, x)
    return op(
        "TensorArrayConcatV3",
        handle,
        flow,
        dtype=tf.float32,
        element_shape_except0=tf.TensorShape([3]),
    )


def cut(x: Any, count: Any) -> Any:
    del count
    lengths = np.array([2, 2], np.int64)
    handle, flow = array(np.int32(2), [None, 3])
    flow = op("TensorArraySplitV3", handle, x[:4], lengths, flow)
    return op("TensorArrayReadV3", handle, np.int32(1), flow, dtype=tf.float32)


def scattered(x: Any, count: Any) -> Any:
    """Rows in another order, more than there were."""
    handle, flow = array(count, [3])
    flow = op("TensorArrayScatterV3", handle, np.int32([3, 0]), x[:2], flow)
    return everything(handle, flow, [3])


def written_twice(x: Any, count: Any) -> Any:
    """A loop in a loop: the inner one's array lives for an iteration of the outer one."""
    handle, flow = array(count, [3])

    def inner(i: Any, handle: Any, flow: Any, x: Any) -> Any:
        return op("TensorArrayWriteV3", handle, i, x[i] * 2.0, flow)

    def step(i: Any, handle: Any, flow: Any, x: Any) -> Any:
        mine, start = array(np.int32(2), [3])
        rows = everything(mine, looped(inner, np.int32(2), mine, start, x), [3])
        value = rows[0] - rows[1] * op("Cast", i, DstT=tf.float32)
        return op("TensorArrayWriteV3", handle, i, value, flow)

    return everything(handle, looped(step, count, handle, flow, x), [3])


@pytest.mark.parametrize(
    "program", [growing, backwards, joined, cut, scattered, written_twice], ids=lambda f: f.__name__
)
def test_programs_with_arrays(program: Any) -> None:
    function = traced(program, ROWS, COUNT)
    for seed in range(2):
        x = np.random.default_rng(seed).standard_normal((5, 3)).astype("f4")
        # `export` compares with the results of the kernels of TensorArrays.
        export(function, sample={"x": x, "count": np.array(5, np.int32)})


def test_an_array_is_written_in_a_branch() -> None:
    def write(x: Any, handle: Any, flow: Any) -> Any:
        return op("TensorArrayWriteV3", handle, np.int32(0), x[0], flow)

    def leave(x: Any, handle: Any, flow: Any) -> Any:
        del x, handle
        return op("Identity", flow)

    def net(x: Any, flag: Any) -> Any:
        handle, flow = array(np.int32(2), [3])
        flow = op("TensorArrayWriteV3", handle, np.int32(1), x[1], flow)
        specs = (TensorSpec([None, 3], np.float32), HANDLE, FLOW)
        then, other = ref(write, *specs), ref(leave, *specs)
        given = [x, handle, flow]
        flow = op("If", flag, given, then_branch=then, else_branch=other, Tout=(tf.float32,))[0]
        return everything(handle, flow, [3])

    for flag in (True, False):
        sample = {"x": np.ones((2, 3), np.float32), "flag": np.array(flag)}
        export(traced(net, ROWS, FLAG), sample=sample)


def test_what_no_list_can_do_is_refused_with_its_node() -> None:
    def net(x: Any, count: Any) -> Any:
        del count
        handle, flow = array(np.int32(1), [3], dynamic_size=True)
        flow = op("TensorArrayScatterV3", handle, np.int32([0, 4]), x[:2], flow)
        return everything(handle, flow, [3])

    with pytest.raises(UnimplementedError, match=r"TensorArrayScatterV3 .* extends a TensorArray"):
        export(traced(net, ROWS, COUNT))
