"""If, Case, While, and lists of tensors."""

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.deploy.onnx import ExportReport, export
from pinnace.framework import errors
from pinnace.framework.specs import TensorSpec
from pinnace.functions.tracing import trace
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
    # A test `i < n` gives the trip count in advance: no condition is carried.
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


# Loops in AutoGraph's form.

ROWS = TensorSpec([None, 3], np.float32, name="x")


TABLE = np.random.default_rng(1).standard_normal((11, 11)).astype("f4")


def mapped(x: Any) -> Any:
    pair = (tf.float32, tf.float32)
    return tf.map_fn(lambda r: (r * 2.0, tf.reduce_sum(r)), x, fn_output_signature=pair)


def scanned(x: Any) -> Any:
    return tf.scan(lambda a, r: a * 0.5 + r, x)


def written_sometimes(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0], element_shape=[3])
    for i in tf.range(tf.shape(x)[0]):
        if tf.reduce_sum(x[i]) > 0.0:
            rows = rows.write(i, x[i])
    return rows.stack()


def pushed_sometimes(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[3])
    for i in tf.range(tf.shape(x)[0]):
        if tf.reduce_sum(x[i]) > 0.0:
            rows = rows.write(rows.size(), x[i])
    return rows.stack()


def joined(x: Any) -> Any:
    count = tf.shape(x)[0]
    rows = tf.TensorArray(tf.float32, size=count, element_shape=[None, 3], infer_shape=False)
    for i in tf.range(count):
        rows = rows.write(i, x[: i + 1])
    return rows.concat()


def greedy(x: Any) -> Any:
    words = tf.TensorArray(tf.int32, size=0, dynamic_size=True, element_shape=[])
    word, i = tf.constant(1), 0
    while i < 9 and word != 0:
        scores = tf.constant(TABLE)[word] * tf.cast(i + 1, tf.float32) + tf.reduce_sum(x)
        word = tf.argmax(scores, output_type=tf.int32)
        words = words.write(i, word)
        i += 1
    return words.stack()


def stopped(x: Any) -> Any:
    total = 0.0
    for row in x:
        if tf.reduce_sum(row) > 1.0:
            break
        total += tf.reduce_sum(row)
    return total


def nested(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=3)
    for i in tf.range(3):
        total = tf.zeros([3])
        for j in tf.range(i + 1):
            total += x[j]
        rows = rows.write(i, total)
    return rows.stack()


def read_back(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=5, element_shape=[], clear_after_read=False)
    rows = rows.write(0, 1.0).write(1, x[0, 0])
    for i in tf.range(2, 5):
        rows = rows.write(i, rows.read(i - 1) + rows.read(i - 2))
    return rows.stack()


PROGRAMS = {
    function.__name__: function
    for function in (
        *(mapped, scanned, written_sometimes, pushed_sometimes, joined, greedy, stopped, nested),
        read_back,
    )
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_of_programs(name: str) -> None:
    function = tf.function(PROGRAMS[name]).get_concrete_function(ROWS)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((4, 3)).astype("f4")
        report = export(function, sample={"x": x})
        assert report.op_counts["Loop"] == 1


def test_a_loop_up_to_a_number_knows_its_turns() -> None:
    function = tf.function(PROGRAMS["nested"]).get_concrete_function(ROWS)
    model = export(function, sample={"x": np.ones((4, 3), np.float32)}).model
    loop = next(node for node in model.graph.node if node.op_type == "Loop")
    assert not loop.input[1]


@tf.function(input_signature=[TensorSpec([None, None, 4], np.float32, name="x")])
def row_sums(x: Any) -> Any:
    found = []
    for row in x:
        found.append(tf.reduce_sum(row, -1))  # noqa: PERF401 (AutoGraph's own form)
    return found


def test_a_list_that_is_appended_to_needs_no_known_element_shape() -> None:
    assert counts(export(row_sums.get_concrete_function()))["Loop"] == 1


@tf.function(input_signature=[TensorSpec([None, None], np.float32, name="x")])
def joined(x: Any) -> Any:
    pieces = tf.TensorArray(tf.float32, size=3, infer_shape=False)
    for i in tf.range(3):
        pieces = pieces.write(i, tf.reshape(x, tf.concat([tf.shape(x), [1]], 0)))
    return pieces.concat()


def test_what_comes_behind_a_refused_op_is_refused_too_and_ends_in_no_other_error() -> None:
    with pytest.raises(tf.errors.UnimplementedError, match="all sizes but the first must be known"):
        export(joined.get_concrete_function())


def test_branches_too_deep_for_a_file_are_refused_with_advice() -> None:
    """A recursion by halves with a branch for each of 31 bits, as in `tfp.math.log_cumsum_exp`."""

    def nested(x: Any, depth: int) -> Any:
        if not depth:
            return x
        return tf.cond(tf.size(x) > depth, lambda: nested(x, depth - 1) + 1.0, lambda: x)

    spec = tf.TensorSpec([None], tf.float32, "x")
    fine = tf.function(lambda x: nested(x, 30)).get_concrete_function(spec)
    assert export(fine).compared
    deep = tf.function(lambda x: nested(x, 31)).get_concrete_function(spec)
    with pytest.raises(errors.UnimplementedError, match=r"31 deep; .* 30.*\n  Try: shapes="):
        export(deep)
    assert export(deep, shapes={"x": [40]}).compared
