"""Dispatch to functions in place of the library's, in TensorFlow and in pinnace, as JSON.

Run as `python dispatch_programs.py tensorflow|pinnace FOLDER`; see test_extension_types.py.
"""

# ruff: noqa: ARG001, T201 (parameters must be those of the function that is stood for)

import importlib
import json
import sys
import typing
from typing import Any

tf: Any = importlib.import_module(sys.argv[1])
ex: Any = tf.experimental
shared: Any = importlib.import_module("extension_programs")
VALUES, OTHERS, failing = shared.VALUES, shared.OTHERS, shared.failing


class Untouched(ex.ExtensionType):  # type: ignore[misc] # of either library
    """A type for which no function is registered."""

    x: tf.Tensor


class Tagged(ex.ExtensionType):  # type: ignore[misc]
    """A type for dispatch: values and the number of operations on them."""

    values: tf.Tensor
    tag: str = ""


Either = typing.Union[Tagged, tf.Tensor, float]  # noqa: UP007 (as older programs write it)


@ex.dispatch_for_unary_elementwise_apis(Tagged)  # type: ignore[untyped-decorator]
def one(api: Any, x: Any) -> Any:
    return Tagged(api(x.values), x.tag + "u")


@ex.dispatch_for_binary_elementwise_apis(Either, Either)  # type: ignore[untyped-decorator]
def two(api: Any, x: Any, y: Any) -> Any:
    tag = "".join(v.tag for v in (x, y) if isinstance(v, Tagged))
    values = [v.values if isinstance(v, Tagged) else v for v in (x, y)]
    return Tagged(api(*values), tag + "b")


@ex.dispatch_for_binary_elementwise_assert_apis(Tagged, Tagged)  # type: ignore[untyped-decorator]
def asserted(api: Any, x: Any, y: Any) -> Any:
    return api(x.values, y.values)


@ex.dispatch_for_api(tf.concat, {"values": typing.List[Tagged]})  # type: ignore[untyped-decorator] # noqa: UP006
def joined(values: Any, axis: Any, name: Any = "concat") -> Any:
    return Tagged(tf.concat([v.values for v in values], axis), "concat")


@ex.dispatch_for_api(tf.stack)  # type: ignore[untyped-decorator]
def stacked(values: typing.List[Tagged], axis: int = 0) -> Any:  # noqa: UP006
    return Tagged(tf.stack([v.values for v in values], axis), "stack")


@ex.dispatch_for_api(tf.shape, {"input": Tagged})  # type: ignore[untyped-decorator]
def shaped(input: Any, out_type: Any = tf.int32) -> Any:
    return tf.shape(input.values, out_type)


@ex.dispatch_for_api(tf.reduce_sum, {0: Tagged})  # type: ignore[untyped-decorator]
def summed(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return tf.reduce_sum(input_tensor.values, axis, keepdims)


@ex.dispatch_for_api(tf.matmul, {"a": Tagged}, {"b": Tagged})  # type: ignore[untyped-decorator]
def multiplied(*args: Any, **kwargs: Any) -> Any:
    return Tagged(tf.constant(1.0), f"matmul {len(args)} {sorted(kwargs)}")


def tagged(x: Any = VALUES) -> Any:
    return Tagged(x, "t")


def unary() -> Any:
    x, words = tagged(), Tagged([b"ab", b"C"], "w")
    return [
        tf.abs(x),
        tf.math.square(x),
        tf.negative(x),
        tf.nn.relu(x),
        tf.round(x),
        tf.cast(x, tf.int32),
        tf.cast(dtype=tf.float64, x=x),
        tf.ones_like(x),
        tf.zeros_like(x, dtype=tf.int8),
        tf.clip_by_value(x, -1.0, 1.0),
        tf.math.is_nan(x),
        tf.strings.upper(words),
        tf.strings.length(words, unit="BYTE"),
        tf.strings.regex_replace(words, "a", "b"),
        tf.abs(x, name="n"),
        tf.function(lambda v: tf.nn.relu(tf.sign(v)))(x),
        tf.abs(tf.constant(-1)),
    ]


def binary() -> Any:
    x, y = tagged(), tagged(OTHERS)
    return [
        tf.add(x, y),
        tf.add(x, 2.0),
        tf.constant(2.0) * x,
        tf.constant(OTHERS) - x,
        tf.subtract(y=y, x=x),
        tf.maximum(x, y, name="m"),
        tf.math.divide_no_nan(x, y),
        tf.equal(x, y),
        tf.math.less(x, tf.constant(0.0)),
        tf.nn.sigmoid_cross_entropy_with_logits(x, y).tag,
        tf.add(tf.constant(1.0), 2.0),
        tf.function(lambda a, b: tf.math.floordiv(tf.add(a, b), b))(x, y),
        failing(lambda: tf.add(Untouched(1), 2.0))[-5:],
    ]


def assertions() -> Any:
    tf.debugging.assert_equal(tagged(), tagged())
    tf.debugging.assert_less(tagged(), tagged(VALUES + 1), message="m")
    return [
        failing(lambda: tf.debugging.assert_equal(tagged(), tagged(OTHERS))),
        failing(lambda: tf.debugging.assert_greater(tagged(), tagged())),
    ]


def apis() -> Any:
    x = tagged()
    return [
        tf.concat([x, x], 0),
        tf.concat(values=(x, x), axis=1),
        tf.stack([x, x]),
        tf.stack([x, x], axis=1, name="s"),
        tf.shape(x),
        tf.shape(x, out_type=tf.int64),
        tf.shape(VALUES),
        tf.reduce_sum(x),
        tf.reduce_sum(x, axis=1, keepdims=True),
        tf.reduce_sum(VALUES, 0),
        tf.matmul(x, VALUES, transpose_b=True).tag,
        tf.matmul(VALUES, b=x).tag,
        tf.function(lambda v: tf.reduce_sum(tf.concat([v, v], 1), 1))(x),
        failing(lambda: tf.concat([x, VALUES], 0))[-5:],
        failing(lambda: tf.reduce_mean(x))[-5:],
    ]


def registrations() -> Any:
    def handler(api: Any, x: Any) -> Any:
        return x

    def wrong(x: Any) -> Any:
        return x

    @ex.dispatch_for_api(tf.reduce_max, {"input_tensor": Tagged})  # type: ignore[untyped-decorator]
    def largest(input_tensor: Any, axis: Any = None, keepdims: Any = False) -> str:
        return "largest"

    found = [tf.reduce_max(tagged())]
    ex.unregister_dispatch_for(largest)
    found.append(failing(lambda: tf.reduce_max(tagged()))[-5:])
    found.append(tf.reduce_max(VALUES))

    @ex.dispatch_for_api(tf.math.floormod, {"x": Tagged})  # type: ignore[untyped-decorator]
    def again(x: Any, y: Any) -> str:
        return "again"

    found.append(failing(lambda: tf.math.floormod(tagged(), tagged())))
    found.append(tf.math.floormod(tagged(), "no number"))
    ex.unregister_dispatch_for(again)
    found.append(tf.math.floormod(tagged(), tagged(OTHERS)))
    for program in (
        lambda: ex.unregister_dispatch_for(largest),
        lambda: ex.dispatch_for_unary_elementwise_apis(Tagged)(handler),
        lambda: ex.dispatch_for_api(tf.abs)(wrong),
        lambda: ex.dispatch_for_api(tf.abs, {"y": Tagged})(wrong),
        lambda: ex.dispatch_for_api(tf.abs, {"x": dict[str, int]})(wrong),
        lambda: ex.dispatch_for_api(tf.abs, [Tagged])(wrong),
        lambda: ex.dispatch_for_api(tf.add, {"x": Tagged})(wrong),
        lambda: ex.dispatch_for_api(tf.meshgrid, {"x": Tagged})(wrong),
        lambda: ex.dispatch_for_api(tf.abs, {"x": Tagged})(3),
        lambda: ex.dispatch_for_api(wrong, {"x": Tagged})(wrong),
    ):
        found += [failing(program)]
    return found


PROGRAMS = {
    "repr of a value": lambda: repr(tagged()).split("(")[0],
    "repr of a spec": lambda: repr(Tagged.Spec(tf.TensorSpec([2]), "a")),
    "unary elementwise functions": unary,
    "binary elementwise functions": binary,
    "assertions": assertions,
    "functions one by one": apis,
    "registrations": registrations,
}

if __name__ == "__main__":
    print(json.dumps({name: shared.outcome(program) for name, program in PROGRAMS.items()}))
