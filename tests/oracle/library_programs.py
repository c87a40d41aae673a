"""Undocumented behaviour that third-party packages rely on; see `both`.

python library_programs.py tensorflow|pinnace FOLDER
"""

import functools
import importlib
import sys
from typing import Any

import numpy as np
from reporting import report

tf: Any = importlib.import_module(sys.argv[1])


def told(call: Any) -> Any:
    """The result of a call, or the class of its error."""
    try:
        found = call()
    except Exception as error:
        kind = type(error)
        return "refused" if issubclass(kind, (TypeError, ValueError)) else kind.__name__
    return [tf.as_dtype(found.dtype).name, list(found.shape), np.asarray(found).tolist()]


def lists_with_tensors() -> Any:
    """A tensor is refused where another dtype is required; inside a list it is cast."""
    fraction = tf.constant(3.7)
    lists = {
        "alone": lambda x: [x],
        "beside a number": lambda x: [x, 2],
        "beside a fraction": lambda x: [x, 1.5],
        "nested": lambda x: [[x, 1], [2, 3]],
    }
    found = {}
    for name, make in lists.items():
        for kind in ("int32", "float64", "float32"):
            found[f"{name} {kind}"] = [
                told(lambda m=make, k=kind: tf.convert_to_tensor(m(fraction), k)),
                told(
                    lambda m=make, k=kind: tf.function(
                        lambda x: tf.convert_to_tensor(m(x), k), autograph=False
                    )(fraction)
                ),
            ]
    hinted = tf.convert_to_tensor([fraction, 2], dtype_hint=tf.int32)
    return [found, told(lambda: hinted), told(lambda: tf.convert_to_tensor(fraction, "int32"))]


def sizes_from_tensors() -> Any:
    """Sizes in lists may be of any dtype: a list with a tensor of floats is cast."""
    x, three = tf.range(3.0), tf.constant(3.0)
    calls = {
        "tile": lambda n: tf.tile(x, [n]),
        "reshape": lambda n: tf.reshape(x, [n, 1]),
        "fill": lambda n: tf.fill([n, 2], 1),
        "zeros": lambda n: tf.zeros([n, 2]),
        "long": lambda n: tf.reshape(x, [tf.cast(n, tf.int64), 1]),
        "sum": lambda n: tf.reduce_sum(tf.ones([2, 1, 1, 3]), [n]),
    }
    return {
        name: [told(lambda c=call: c(three)), told(lambda c=call: tf.function(c)(three))]
        for name, call in calls.items()
    }


def axes() -> Any:
    """True as an axis is axis 1."""
    x = tf.reshape(tf.range(24.0), [2, 3, 4])
    return [
        told(lambda: tf.reduce_sum(x, [True])),
        told(lambda: tf.reduce_mean(x, True, keepdims=True)),
        told(lambda: tf.argmax(x, True)),
    ]


def through_try(function: Any) -> Any:
    """A decorator with `except ... as name`, as packages write them."""

    @functools.wraps(function)
    def wrapper(*arguments: Any) -> Any:
        try:
            scope = tf.name_scope("scope")
        except AttributeError as missing:
            raise AttributeError("no scope") from missing
        with scope:
            return function(*arguments)

    return wrapper


@through_try
def branching(x: Any) -> Any:
    if x > 0:
        return x * 2
    return -x


def named_errors() -> Any:
    """AutoGraph converts functions with `except X as name`, and what they call."""

    @tf.function
    def outer(x: Any) -> Any:
        return branching(x)

    @tf.function
    def caught(x: Any, fails: bool) -> Any:
        n = tf.constant(0)
        try:
            if fails:
                raise ValueError("why")  # noqa: TRY301 (it is what is tested)
            if x > 0:
                n += 1
        except (TypeError, ValueError) as error:
            if x > 1:
                n += len(str(error))
            for i in tf.range(3):
                n += i
            try:
                raise KeyError(1)  # noqa: TRY301 (it is what is tested)
            except KeyError as inner:
                if x > 2:
                    n *= 10 + len(inner.args)
                return n
        finally:
            n = n + 100
        return n

    values = (3.0, 1.5, -1.0)
    return [
        [told(lambda v=v: outer(tf.constant(v))) for v in values],
        [told(lambda v=v, b=b: caught(tf.constant(v), b)) for v in values for b in (True, False)],
    ]


def scopes() -> Any:
    """A scope has its name, and can be entered again."""
    scope = tf.name_scope("a")
    found = [scope.name]
    with scope as name:
        found.append(name)
        with scope as again, tf.name_scope("b/") as whole, tf.name_scope("c") as below:
            found += [again, whole, below]
    with scope as name:
        found.append(name)
    found.append(tf.Module("m").name_scope.name)
    try:
        tf.name_scope(None)
    except ValueError as error:
        found.append("name for name_scope must be a string" in str(error))
    return found


class Grown(tf.Module):  # type: ignore[misc]
    """A module whose variables have the shape of its first input."""

    def __init__(self) -> None:
        super().__init__()
        self.v: Any = None

    @tf.function  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        if self.v is None:
            self.v = tf.Variable(tf.ones_like(x))
            self.w = tf.Variable(tf.zeros(tf.shape(x)[:1]) + tf.cast(tf.size(x), tf.float32))
        return self.v * x + self.w[:, None]


def variables_like_arguments() -> Any:
    """The shape of an argument without a value determines the first value of a variable."""
    module = Grown()
    concrete = module.__call__.get_concrete_function(tf.TensorSpec([2, 3]))
    return [
        np.asarray(module.v).tolist(),
        np.asarray(module.w).tolist(),
        np.asarray(concrete(tf.fill([2, 3], 2.0))).tolist(),
    ]


def concrete_results() -> Any:
    """Results that are not tensors have an unknown shape and no dtype."""

    @tf.function
    def nothing(x: Any) -> Any:
        del x

    @tf.function
    def both(x: Any) -> Any:
        return None, x

    found = []
    for function in (nothing, both):
        concrete = function.get_concrete_function(tf.TensorSpec([2]))
        found.append([str(concrete.output_shapes), str(concrete.output_dtypes)])
    return found


class Counting:
    """A callable object with attributes."""

    def __init__(self) -> None:
        self.kept = [1, 2]

    def __call__(self, x: Any) -> Any:
        return x + len(self.kept)


def attributes_of_functions() -> Any:
    """A `tf.function` of an object has the attributes of the object."""
    function = tf.function(Counting())
    decorated = tf.function(lambda x: x + 1)
    decorated._decorate(lambda inner: lambda x: inner(x) * 2)
    found = [function.kept, told(lambda: function(tf.constant(1)))]
    found.append(told(lambda: decorated(tf.constant(1))))
    try:
        decorated._decorate(lambda inner: inner)
    except ValueError:
        found.append("refused")
    return found


class Held(tf.Variable):  # type: ignore[misc]
    """A variable that is a tensor, as in functional libraries."""

    def __init__(self, value: Any) -> None:
        self.held = tf.convert_to_tensor(value)

    shape = property(lambda self: self.held.shape)
    dtype = property(lambda self: self.held.dtype)


@functools.partial(tf.register_tensor_conversion_function, Held)
def of_held(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
    """The tensor."""
    del name, as_ref
    return value.held if dtype is None else tf.cast(value.held, dtype)


def variables_of_other_classes() -> Any:
    """A registered function converts a class derived from Variable to tensors."""
    held = Held([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(held.held)
        loss = tf.reduce_sum(tf.square(held))
    return [
        told(lambda: tf.convert_to_tensor(held)),
        told(lambda: tf.add(held, 1)),
        told(lambda: tf.stack([held, held])),
        told(lambda: tape.gradient(loss, held.held)),
    ]


def references() -> Any:
    """Mappings keyed by references can be flattened, in an arbitrary order."""
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    flat = tf.nest.flatten({b.ref(): 2, a.ref(): 1})
    return [sorted(flat), a.ref() < b.ref() or b.ref() < a.ref()]


def words() -> Any:
    """Words that messages are searched for."""
    calls = [
        (lambda: tf.reshape(tf.range(8), [3, 2]), "requested shape has 6"),
        (lambda: tf.reshape(tf.range(8), [3, 2]), "Input to reshape is a tensor with 8 values"),
        (lambda: tf.reshape(tf.range(8), [4, -2]), "ize 1 must be non-negative, not -2"),
        (lambda: tf.Module(name="$a"), "is not a valid module name"),
    ]
    found = []
    for call, phrase in calls:
        try:
            call()
        except Exception as error:
            found.append(phrase in str(error))
    return found


def local_results() -> Any:
    """The older name of `experimental_local_results`."""
    return list(tf.distribute.OneDeviceStrategy("/cpu:0").unwrap(3))


def objects_compared() -> Any:
    """`assertAllEqual` on objects that are not tensors."""
    case = tf.test.TestCase()
    case.assertAllEqual([len, told], (len, told))
    try:
        case.assertAllEqual([len, told], (told, told))
    except AssertionError:
        return "differ"
    return "the same"


PROGRAMS = {
    "lists with tensors": lists_with_tensors,
    "sizes from tensors": sizes_from_tensors,
    "axes": axes,
    "named errors": named_errors,
    "scopes": scopes,
    "variables like arguments": variables_like_arguments,
    "concrete results": concrete_results,
    "attributes of functions": attributes_of_functions,
    "variables of other classes": variables_of_other_classes,
    "references": references,
    "words": words,
    "local results": local_results,
    "objects compared": objects_compared,
}


if __name__ == "__main__":
    report(PROGRAMS)
