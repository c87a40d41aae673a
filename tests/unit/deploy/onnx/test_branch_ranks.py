"""Conditions whose branches differ in rank: folded, exported, or refused.

An ONNX file declares the rank of each output. If the file's known sizes decide a condition, no If
is left; if only consumers of its result depend on the rank, the If stays; an output whose rank
depends on the data is refused, with and without a sample.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest

import pinnace as tf
from pinnace.deploy.onnx import export
from pinnace.deploy.onnx.converters.functional import conditions
from pinnace.framework.specs import TensorSpec
from pinnace.functions.concrete import ConcreteFunction

X = TensorSpec([None, 3], np.float32, name="x")
FLAG = TensorSpec([], np.bool_, name="flag")
PICTURE = TensorSpec([None, None, None, 2], np.float32, name="x")
RNG = np.random.default_rng(11)


def concrete(function: Callable[..., Any], *specs: TensorSpec) -> ConcreteFunction:
    found: ConcreteFunction = tf.function(function).get_concrete_function(*(specs or (X, FLAG)))
    return found


def halves_differ(x: Any) -> Any:
    """Whether the second axis is odd, computed in float64, as in MobileViT."""
    size = tf.shape(x)[1]
    return tf.cast(tf.math.ceil(size / 2) * 2, tf.int32) != size


# Conditions that known sizes decide, with the If in NumPy.
def of_size(x: Any, flag: Any) -> Any:
    del flag
    return tf.cond(tf.shape(x)[1] == 3, lambda: x * 2.0, lambda: tf.reduce_sum(x, 0))


def of_size_in_int64(x: Any, flag: Any) -> Any:
    del flag
    size = tf.shape(x, out_type=tf.int64)[-1]
    return tf.cond(size > 3, lambda: x * 2.0, lambda: tf.reduce_sum(x, 0))


def of_arithmetic(x: Any, flag: Any) -> Any:
    del flag
    wanted = tf.logical_or(halves_differ(x), tf.shape(x)[1] > 7)
    return tf.cond(wanted, lambda: tf.reduce_sum(x, 0), lambda: x * 2.0)


def of_a_squeezed_axis(x: Any, flag: Any) -> Any:
    del flag
    y = tf.expand_dims(x, 0)
    return tf.cond(tf.shape(y)[0] == 1, lambda: tf.squeeze(y, 0), lambda: y)


def of_a_condition(x: Any, flag: Any) -> Any:
    """The second condition is known once the first is."""
    del flag
    y = tf.cond(tf.shape(x)[1] > 3, lambda: x[:, :2], lambda: tf.concat([x, x], 1))
    return tf.cond(tf.shape(y)[1] == 6, lambda: y[:, 0], lambda: y)


def of_a_function(x: Any, flag: Any) -> Any:
    del flag

    @tf.function
    def inner(x: Any) -> Any:
        return tf.cond(tf.shape(x)[1] - 3 == 0, lambda: x[:, 0], lambda: x)

    return inner(x) * 3.0


def of_a_slice(x: Any, flag: Any) -> Any:
    del flag
    sizes = tf.shape(tf.stack([x, x], 1))
    return tf.cond(tf.reduce_prod(sizes[1:]) == 6, lambda: x, lambda: x[0])


def of_a_number(x: Any, flag: Any) -> Any:
    del flag
    branches = [lambda: x[0, 0], lambda: x[0], lambda: x, lambda: x[None]]
    return tf.switch_case(tf.shape(x)[1] - 1, branches)


def of_an_axis_and_itself(x: Any, flag: Any) -> Any:
    """A comparison of a number of rows with itself, as in Funnel of transformers."""
    del flag
    rows = tf.shape(x)[0]
    y = tf.reshape(x * 2.0, [rows, 1, 3]) * 3.0 + tf.constant([1.0, 2.0, 3.0])
    return tf.cond(tf.shape(y)[0] != tf.shape(x)[0], lambda: x[0], lambda: x)


def of_an_axis_and_itself_in_a_function(x: Any, flag: Any) -> Any:
    del flag
    inner = tf.function(
        lambda a, b: tf.cond(tf.shape(a)[0] == tf.shape(b)[0], lambda: a, lambda: b[0])
    )
    return inner(x, tf.identity(x))


def of_what_python_asks(x: Any, flag: Any) -> Any:
    """`flag and False` in AutoGraph's form; and `flag or True`."""
    never = tf.cond(flag, lambda: tf.constant(value=False), lambda: tf.identity(flag))
    always = tf.cond(flag, lambda: tf.identity(flag), lambda: tf.constant(value=True))
    y = tf.cond(never, lambda: x[0], lambda: x)
    return tf.cond(always, lambda: y * 1.0, lambda: y[0])


FOLDED: dict[Callable[..., Any], Callable[[Any], Any]] = {
    of_size: lambda x: x * 2,
    of_size_in_int64: lambda x: x.sum(0),
    of_arithmetic: lambda x: x.sum(0),
    of_a_squeezed_axis: lambda x: x,
    of_a_condition: lambda x: x[:, 0],
    of_a_function: lambda x: x[:, 0] * 3,
    of_a_slice: lambda x: x,
    of_a_number: lambda x: x,
    of_an_axis_and_itself: lambda x: x,
    of_an_axis_and_itself_in_a_function: lambda x: x,
    of_what_python_asks: lambda x: x,
}


@pytest.mark.parametrize("function", FOLDED, ids=lambda f: f.__name__)
def test_a_condition_on_known_sizes_leaves_its_branch(function: Any) -> None:
    report = export(concrete(function))
    assert "If" not in report.op_counts
    assert report.batches
    session = onnxruntime.InferenceSession(report.model.SerializeToString())
    x = RNG.standard_normal((4, 3)).astype("f4")
    given = {one.name: {"x": x, "flag": np.array(True)}[one.name] for one in session.get_inputs()}
    (found,) = session.run(None, given)
    np.testing.assert_allclose(found, FOLDED[function](x), rtol=1e-5)


# The If stays, since the consumers of its result have a fixed rank.
def then_reshaped(x: Any, flag: Any) -> Any:
    return tf.reshape(tf.cond(flag, lambda: x * 2.0, lambda: tf.reshape(x, [-1])), [-1, 3])


def then_measured(x: Any, flag: Any) -> Any:
    return tf.shape(tf.cond(flag, lambda: x, lambda: x[0]))


def then_summed(x: Any, flag: Any) -> Any:
    return tf.reduce_sum(tf.cond(flag, lambda: x, lambda: tf.reduce_max(x, 0)))


def nested_then_largest(x: Any, flag: Any) -> Any:
    def inner() -> Any:
        return tf.cond(tf.shape(x)[0] > 2, lambda: x, lambda: x[0])

    return tf.reduce_max(tf.cond(flag, inner, lambda: tf.reduce_min(x)))


def in_a_function_then_mean(x: Any, flag: Any) -> Any:
    inner = tf.function(lambda x, flag: tf.cond(flag, lambda: x[:, 0], lambda: x))
    return tf.reduce_mean(inner(x, flag))


def shapes_of_a_condition(x: Any, flag: Any) -> Any:
    def turned() -> Any:
        return tf.cast(tf.stack([3, tf.shape(x)[0]]), tf.int64)

    return tf.reshape(x, tf.cond(flag, lambda: tf.shape(x, out_type=tf.int64), turned))


def case_then_product(x: Any, flag: Any) -> Any:
    place = tf.cast(flag, tf.int32) + tf.shape(x)[0] - 2
    branches = [lambda: x, lambda: x[0], lambda: x[0, 0]]
    return tf.reduce_prod(tf.switch_case(place, branches))


KEPT: dict[Callable[..., Any], Callable[[Any, bool], Any]] = {
    then_reshaped: lambda x, flag: x * 2 if flag else x,
    then_measured: lambda x, flag: np.array(x.shape if flag else [3]),
    then_summed: lambda x, flag: (x if flag else x.max(0)).sum(),
    nested_then_largest: lambda x, flag: (x if len(x) > 2 else x[0]).max() if flag else x.min(),
    in_a_function_then_mean: lambda x, flag: (x[:, 0] if flag else x).mean(),
    shapes_of_a_condition: lambda x, flag: x if flag else x.reshape(3, -1),
    case_then_product: lambda x, flag: {0: x, 1: x[0]}.get(int(flag) + len(x) - 2, x[0, 0]).prod(),
}


@pytest.mark.parametrize("sampled", [None, True, False])
@pytest.mark.parametrize("function", KEPT, ids=lambda f: f.__name__)
def test_what_gives_always_as_many_axes_is_right_in_both_branches(
    function: Any, sampled: bool | None
) -> None:
    """The same for a file that was exported with a sample of one branch."""
    sample = None
    if sampled is not None:
        sample = {"x": RNG.standard_normal((3, 3)).astype("f4"), "flag": np.array(sampled)}
    report = export(concrete(function), sample=sample)
    session = onnxruntime.InferenceSession(report.model.SerializeToString())
    for rows in (1, 2, 5):
        for flag in (True, False):
            x = RNG.standard_normal((rows, 3)).astype("f4")
            (found,) = session.run(None, {"x": x, "flag": np.array(flag)})
            np.testing.assert_allclose(found, KEPT[function](x, flag), rtol=1e-5)


# Outputs whose rank depends on the data.
def returned(x: Any, flag: Any) -> Any:
    return tf.cond(flag, lambda: x * 2.0, lambda: tf.reduce_sum(x, 0))


def returned_by_rows(x: Any, flag: Any) -> Any:
    del flag
    return tf.cond(tf.shape(x)[0] > 2, lambda: x, lambda: tf.expand_dims(x, 0))


def rectified(x: Any, flag: Any) -> Any:
    return tf.nn.relu(tf.cond(flag, lambda: x, lambda: x[0]))


def with_another(x: Any, flag: Any) -> Any:
    one, other = tf.cond(flag, lambda: (x, x[0, 0]), lambda: (x[0], x[0]))
    return tf.reduce_sum(one) + other


def nested(x: Any, flag: Any) -> Any:
    return tf.cond(flag, lambda: tf.cond(x[0, 0] > 0.0, lambda: x, lambda: x[0]), lambda: x)


def of_shapes(x: Any, flag: Any) -> Any:
    return tf.reshape(x, tf.cond(flag, lambda: tf.shape(x), lambda: tf.stack([tf.size(x)])))


def in_a_loop(x: Any, flag: Any) -> Any:
    total = x[0, 0]
    for i in tf.range(3):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(total, tf.TensorShape(None))])
        total += tf.cond(flag, lambda: x, lambda: x[0]) * tf.cast(i, tf.float32)
    return total


REFUSED = (returned, returned_by_rows, rectified, with_another, nested, of_shapes, in_a_loop)


@pytest.mark.parametrize("sampled", [None, True, False])
@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_an_output_of_one_rank_or_another_is_refused_by_the_conditions_name(
    function: Any, sampled: bool | None
) -> None:
    sample = None
    if sampled is not None:
        sample = {"x": RNG.standard_normal((3, 3)).astype("f4"), "flag": np.array(sampled)}
    with pytest.raises(tf.errors.UnimplementedError) as caught:
        export(concrete(function), sample=sample)
    assert "the branches of '" in str(caught.value)
    assert "return different ranks" in str(caught.value)
    assert "sample=" not in str(caught.value)


# MobileViT resizes images to even sizes.
def made_even(x: Any) -> Any:
    sizes = tf.shape(x)
    even = [tf.cast(tf.math.ceil(sizes[axis] / 2) * 2, tf.int32) for axis in (1, 2)]
    odd = tf.cond(even[0] != sizes[1], lambda: True, lambda: even[1] != sizes[2])
    y = tf.cond(odd, lambda: tf.image.resize(x, tf.stack(even)), lambda: x)
    y = tf.reshape(y, [sizes[0] * (even[0] // 2), 2, even[1] // 2, 4])
    return tf.transpose(y, [0, 2, 1, 3])


@pytest.mark.parametrize(("height", "width"), [(4, 6), (5, 6), (4, 3), (7, 5)])
def test_pictures_that_are_resized_where_they_are_odd(height: int, width: int) -> None:
    spec = TensorSpec([None, height, width, 2], np.float32, name="x")
    report = export(concrete(made_even, spec))
    assert "If" not in report.op_counts


def test_pictures_of_any_size_keep_the_condition() -> None:
    program = concrete(made_even, PICTURE)
    report = export(program, sample={"x": RNG.standard_normal((2, 5, 6, 2)).astype("f4")})
    assert report.op_counts["If"] == 2
    session = onnxruntime.InferenceSession(report.model.SerializeToString())
    for height, width in ((4, 6), (5, 6), (4, 3), (7, 5)):
        x = RNG.standard_normal((3, height, width, 2)).astype("f4")
        wanted = program(tf.constant(x)).numpy()
        np.testing.assert_allclose(session.run(None, {"x": x})[0], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [("type", "not valid ONNX|does not load"), ("count", "not valid ONNX|does not load")],
)
def test_an_invalid_file_is_named(
    monkeypatch: pytest.MonkeyPatch, spoiled: str, words: str
) -> None:
    """A wrong converter: the condition is a float, or a branch lacks a result."""

    def float_truth(g: Any, call: Any, test: Any) -> Any:
        del call
        return g.cast(test, tf.float32)

    def short(g: Any, call: Any, test: Any, then: Any, other: Any) -> Any:
        other.outputs.pop()
        return g.with_bodies(
            "If",
            [output.spec for output in call.node.outputs],
            test,
            then_branch=then,
            else_branch=other,
        )

    if spoiled == "type":
        monkeypatch.setattr(conditions, "truth", float_truth)
    else:
        monkeypatch.setattr(conditions, "_node", short)
    with pytest.raises(tf.errors.InternalError, match=words):
        export(concrete(then_summed))


def test_a_sample_tells_ranks_behind_an_embedding() -> None:
    """Funnel of transformers squeezes all axes of size 1 of its scores."""
    table = tf.Variable(RNG.standard_normal((7, 1)).astype("f4"))
    words = TensorSpec([None, None], np.int32, name="words")
    program = concrete(lambda words: tf.squeeze(table.sparse_read(words)), words)
    given = RNG.integers(0, 7, (3, 4)).astype("i4")
    report = export(program, sample={"words": given})
    session = onnxruntime.InferenceSession(report.model.SerializeToString())
    (found,) = session.run(None, {"words": given})
    np.testing.assert_array_equal(found, table.numpy()[given, 0])
