"""If, Case, While, and lists of tensors."""

from typing import Any

import numpy as np
import pytest

from pinnace.deploy.onnx import ExportReport, export
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import trace
from pinnace.graph.graph import FunctionRef
from unit.deploy.onnx.networks import conv, image, op, traced, weights

X = TensorSpec([None, 3], np.float32, name="x")
FLAG = TensorSpec([], np.bool_, name="flag")
COUNT = TensorSpec([], np.int32, name="count")
SCALAR = TensorSpec([], np.int32)


def ref(function: Any, *specs: TensorSpec) -> FunctionRef:
    graph = trace(function, specs, {}, function.__name__)[0].graph
    return FunctionRef(graph.name, graph)


def counts(report: ExportReport) -> dict[str, int]:
    return dict(report.op_counts)


def test_if_runs_one_branch() -> None:
    def double(x: Any) -> Any:
        return op("Mul", x, np.float32(2))

    def root(x: Any) -> Any:
        return op("Sqrt", op("Abs", x))

    def net(x: Any, flag: Any) -> Any:
        then, other = ref(double, X), ref(root, X)
        kinds = (x.dtype,)
        return op("StatelessIf", flag, [x], then_branch=then, else_branch=other, Tout=kinds)[0]

    for flag in (True, False):
        report = export(
            traced(net, X, FLAG), sample={"x": np.ones((2, 3)) * 3, "flag": np.array(flag)}
        )
        assert counts(report) == {"If": 1}


def test_a_condition_that_is_known_leaves_its_branch() -> None:
    def double(x: Any) -> Any:
        return op("Mul", x, np.float32(2))

    def net(x: Any) -> Any:
        branch = ref(double, X)
        test = np.array(True)
        return op(
            "StatelessIf", test, [x], then_branch=branch, else_branch=branch, Tout=(x.dtype,)
        )[0]

    assert counts(export(traced(net, X))) == {"Mul": 1}


def test_case_takes_the_last_branch_for_a_number_out_of_range() -> None:
    def times(n: int) -> Any:
        def branch(x: Any) -> Any:
            return op("Mul", x, np.float32(n))

        return branch

    def net(x: Any, count: Any) -> Any:
        branches = tuple(ref(times(n), X) for n in (2, 3, 5))
        return op("StatelessCase", count, [x], branches=branches, Tout=(x.dtype,))[0]

    for number in (-1, 0, 1, 2, 7):
        export(
            traced(net, X, COUNT),
            sample={"x": np.ones((2, 3)), "count": np.array(number, np.int32)},
        )


def running_sum(x: Any, count: Any, below: Any) -> Any:
    """A loop that adds x to itself `count` times."""

    def test(i: Any, n: Any, total: Any, x: Any) -> Any:
        del total, x
        return below(i, n)

    def body(i: Any, n: Any, total: Any, x: Any) -> Any:
        return op("AddV2", i, np.int32(1)), n, op("AddV2", total, x), x

    specs = (SCALAR, SCALAR, X, X)
    start = [np.int32(0), count, op("ZerosLike", x), x]
    return op("StatelessWhile", start, cond=ref(test, *specs), body=ref(body, *specs))[2]


@pytest.mark.parametrize("number", [0, 1, 4])
@pytest.mark.parametrize("kind", ["Less", "NotEqual"])
def test_a_loop_runs_as_often_as_it_should(number: int, kind: str) -> None:
    def net(x: Any, count: Any) -> Any:
        return running_sum(x, count, lambda i, n: op(kind, i, n))

    sample = {"x": np.ones((2, 3), np.float32), "count": np.array(number, np.int32)}
    report = export(traced(net, X, COUNT), sample=sample)
    assert report.op_counts["Loop"] == 1
    loop = next(node for node in report.model.graph.node if node.op_type == "Loop")
    # How often is known before when the test is `i < n`: then nothing else is carried.
    assert bool(loop.input[1]) == (kind == "NotEqual")


@pytest.mark.parametrize("number", [1, 3])
def test_a_list_that_a_loop_fills_is_a_scan_output(number: int) -> None:
    def test(i: Any, n: Any, rows: Any, x: Any) -> Any:
        del rows, x
        return op("Less", i, n)

    def body(i: Any, n: Any, rows: Any, x: Any) -> Any:
        twice = op("Mul", x, np.float32(2))
        return op("AddV2", i, np.int32(1)), n, op("TensorListSetItem", rows, i, twice), twice

    def net(x: Any, count: Any) -> Any:
        unknown = np.array([-1, 3], np.int32)
        rows = op("TensorListReserve", unknown, count, element_dtype=x.dtype)
        specs = (SCALAR, SCALAR, TensorSpec([], "variant"), X)
        result = op(
            "StatelessWhile",
            [np.int32(0), count, rows, x],
            cond=ref(test, *specs),
            body=ref(body, *specs),
        )
        return op("TensorListStack", result[2], unknown, element_dtype=x.dtype)

    sample = {"x": np.ones((2, 3), np.float32), "count": np.array(number, np.int32)}
    report = export(traced(net, X, COUNT), sample=sample)
    assert "ScatterND" not in report.op_counts
    loop = next(node for node in report.model.graph.node if node.op_type == "Loop")
    assert [node.op_type for node in loop.attribute[0].g.node].count("Mul") == 1


def test_a_convolution_in_a_branch_is_laid_out_there() -> None:
    kernels = {out: weights(3, 3, 8 - out, out).numpy() for out in (3, 5)}

    def plain(x: Any, out: int) -> Any:
        kernel = kernels[out][:, :, : int(x.shape[-1])]
        return op("Conv2D", x, kernel, strides=(1, 1, 1, 1), padding="SAME")

    def small(x: Any) -> Any:
        return plain(x, 3)

    def large(x: Any) -> Any:
        return plain(op("Relu", plain(x, 5)), 3)

    def net(x: Any, flag: Any) -> Any:
        y = conv(x, 3)
        then, other = ref(small, image()), ref(large, image())
        return op("StatelessIf", flag, [y], then_branch=then, else_branch=other, Tout=(y.dtype,))[0]

    for flag in (True, False):
        picture = np.random.default_rng(0).standard_normal((2, 8, 8, 3))
        export(traced(net, image(), FLAG), sample={"image": picture, "flag": np.array(flag)})


def test_a_loop_that_assigns_is_refused() -> None:
    variable = weights(3)

    def net(x: Any) -> Any:
        variable.assign_add(op("Sum", x, np.array([0], np.int32)))
        return variable.value()

    with pytest.raises(UnimplementedError, match="assigns variable"):
        export(traced(net, X))
