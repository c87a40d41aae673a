"""Extension types: values and specs of annotated fields, and dispatch to functions for them."""

# ruff: noqa: ARG001 (parameters must be those of the function that is stood for)

import inspect
import pickle
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.ops.composites.extension import elementwise, hooks
from pinnace.ops.math import arithmetic

ex: Any = tf.experimental
NUMBERS = st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=5)


class Pair(ex.BatchableExtensionType):  # type: ignore[misc] # its base is Any here
    a: tf.Tensor
    b: tf.Tensor


class Held(ex.ExtensionType):  # type: ignore[misc]
    tensors: tuple[tf.Tensor, ...]
    named: Mapping[str, tf.Tensor]
    scale: int | float = 1


@pytest.fixture
def handler() -> Iterator[Any]:
    """A handler of binary functions for pairs."""

    def both(api: Any, x: Any, y: Any) -> Any:
        return Pair(api(x.a, y.a), api(x.b, y.b))

    ex.dispatch_for_binary_elementwise_apis(Pair, Pair)(both)
    yield both
    ex.unregister_dispatch_for(both)


@given(NUMBERS, NUMBERS)
def test_a_value_comes_back_from_a_traced_function(a: list[list[int]], b: list[list[int]]) -> None:
    swapped = tf.function(lambda p: Pair(p.b, p.a))(Pair(a, b))
    assert swapped.a.numpy().tolist() == b
    assert swapped.b.numpy().tolist() == a
    assert bool(swapped == Pair(b, a))
    assert bool(swapped == Pair(a, b)) == (a == b)


@given(NUMBERS, st.integers(1, 4))
def test_batches_come_apart_again(rows: list[list[int]], size: int) -> None:
    source = tf.data.Dataset.from_tensor_slices(Pair(rows, np.negative(rows)))
    batches = list(source.batch(size))
    assert [x.a.numpy().tolist() for x in batches] == [
        rows[i : i + size] for i in range(0, len(rows), size)
    ]
    again = list(source.batch(size).unbatch())
    assert [x.b.numpy().tolist() for x in again] == np.negative(rows).tolist()
    assert len(source) == len(rows)


@given(NUMBERS)
def test_map_fn_goes_over_rows(rows: list[list[int]]) -> None:
    def difference(p: Any) -> Any:
        return tf.reduce_sum(p.a - p.b)

    value = Pair(rows, np.ones_like(rows, np.int32))
    wanted = (np.array(rows) - 1).sum(1).tolist()
    for mapped in (tf.map_fn, tf.function(tf.map_fn)):
        assert mapped(difference, value, fn_output_signature=tf.int32).numpy().tolist() == wanted


def test_the_gradient_goes_through_a_value() -> None:
    x = tf.constant([1.0, -2.0, 3.0], tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = tf.function(lambda v: Pair(v * v, v))(x)
        y = tf.reduce_sum(made.a * made.b)
    np.testing.assert_allclose(tape.gradient(y, x), 3 * x.numpy() ** 2)
    with pytest.raises(ValueError, match="a field of it that is a tensor"):
        tf.GradientTape().watch(Pair(1, 2))


def test_layers_and_models_are_called_with_values() -> None:
    class Whole(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones")

        def call(self, x: Any) -> Any:
            return self.dense(x.a) - x.b

    found = Whole()(Pair([[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0]]))
    assert found.numpy().tolist() == [[2.0], [5.0]]


def test_what_has_no_batches_says_so() -> None:
    with pytest.raises(TypeError, match="has no batches"):
        tf.data.Dataset.from_tensors(Held([], {})).batch(2)
    with pytest.raises(TypeError, match="BatchableExtensionType"):
        tf.map_fn(lambda x: x, Held([], {}), fn_output_signature=tf.int32)


def test_specs_are_pickled_and_compared_by_their_fields() -> None:
    spec = Held([1, 2.5], {"x": [1, 2]}, 3).spec
    assert spec == Held([4, 5.5], {"x": [0, 0]}, 3).spec
    assert spec != Held([4, 5.5], {"x": [0, 0]}, 4).spec
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 (its own bytes)
    assert hash(pickle.loads(pickle.dumps(spec))) == hash(spec)  # noqa: S301
    wide = spec.most_specific_common_supertype([Held([1, 2.5], {"x": [1, 2, 3]}, 3).spec])
    assert wide.named["x"].shape.as_list() == [None]
    assert spec.is_subtype_of(wide)
    assert not wide.is_subtype_of(spec)
    assert spec.component_names() == ("tensors[0]", "tensors[1]", "named['x']")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Pair(1), TypeError, "missing a required argument: 'b'"),
        (lambda: Pair(1, {}), TypeError, r"Pair.b: expected Tensor, got dict \{\}"),
        (lambda: Held(3, {}), TypeError, "Held.tensors: expected tuple, got int 3"),
        (lambda: Held([], 3), TypeError, "Held.named: expected mapping, got int 3"),
        (lambda: Held([], {1: 2}), TypeError, "Held.named: key: expected str, got int 1"),
        (lambda: Held([], {}, "x"), TypeError, "Held.scale: expected int | float, got str 'x'"),
        (lambda: Pair.Spec(1, 2), TypeError, "Pair.Spec.a: expected TensorSpec, got int 1"),
        (lambda: setattr(Pair(1, 2), "a", 3), AttributeError, "cannot be changed once"),
        (lambda: tf.add(Pair(1, 2), 1), TypeError, "Pair is not one tensor but several"),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message.replace("|", r"\|")):
        make()


def test_annotations_that_no_field_may_have_are_errors_of_the_class() -> None:
    with pytest.raises(TypeError, match=r"Bad\.x: Unsupported type annotation"):

        class Bad(ex.ExtensionType):  # type: ignore[misc]
            x: object

    with pytest.raises(ValueError, match="the name 'value_type' is reserved"):

        class Reserved(ex.ExtensionType):  # type: ignore[misc]
            value_type: int


def test_operators_and_functions_ask_the_handler(handler: Any) -> None:
    x, y = Pair([1, 2], [3, 4]), Pair([10, 20], [30, 40])
    for add in (tf.add, tf.math.add, arithmetic.add):
        assert add(x, y).b.numpy().tolist() == [33, 44]
    assert tf.function(lambda p, q: tf.maximum(p, q))(x, y).a.numpy().tolist() == [10, 20]
    assert tf.add(1, 2).numpy() == 3
    with pytest.raises(ValueError, match=f"handler .*{handler.__name__}.* already"):
        ex.dispatch_for_binary_elementwise_apis(Pair, Pair)(handler)


def test_a_function_is_as_it_was_when_nothing_is_registered() -> None:
    code, names = tf.reduce_prod.__code__, inspect.signature(tf.reduce_prod)
    inner: Any = inspect.unwrap(tf.reduce_prod)
    before = inner.__code__, inner.__kwdefaults__, dict(inner.__dict__)

    @ex.dispatch_for_api(tf.reduce_prod, {"input_tensor": Pair})  # type: ignore[untyped-decorator]
    def product(input_tensor: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return "product", axis, keepdims

    assert tf.reduce_prod(Pair(1, 2), axis=3, name="n") == ("product", 3, False)
    assert tf.reduce_prod([2, 3]).numpy() == 6
    assert inspect.signature(tf.reduce_prod) == names
    ex.unregister_dispatch_for(product)
    assert tf.reduce_prod.__code__ is code
    assert (inner.__code__, inner.__kwdefaults__, dict(inner.__dict__)) == before
    with pytest.raises(ValueError, match="was not registered"):
        ex.unregister_dispatch_for(product)


def test_two_functions_for_the_same_arguments_are_refused() -> None:
    def first(x: Any, name: Any = None) -> Any:
        return 1

    def second(x: Any, name: Any = None) -> Any:
        return 2

    for function in (first, second):
        ex.dispatch_for_api(tf.math.lbeta, {"x": Pair})(function)
    with pytest.raises(ValueError, match="several functions are registered"):
        tf.math.lbeta(Pair(1, 2))
    ex.unregister_dispatch_for(first)
    assert tf.math.lbeta(Pair(1, 2)) == 2
    ex.unregister_dispatch_for(second)


def test_threads_may_call_a_function_whose_hook_comes_and_goes() -> None:
    x, ended, wrong = tf.constant([1.0, 2.0]), threading.Event(), []

    def call() -> None:
        while not ended.is_set():
            if tf.square(x).numpy().tolist() != [1.0, 4.0]:
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(200):

        @ex.dispatch_for_api(tf.square, {"x": Pair})  # type: ignore[untyped-decorator]
        def squared(x: Any) -> Any:
            return x

        ex.unregister_dispatch_for(squared)
    ended.set()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("table", [elementwise.UNARY, elementwise.BINARY, elementwise.ASSERTIONS])
def test_every_elementwise_function_can_have_a_hook(table: Mapping[str, str]) -> None:
    for function in elementwise.functions(table):
        inner = hooks.plain_function(function)
        assert inner is not None, function
        assert hooks.remove_hook(hooks.put_hook(inner)) is None
        assert hooks.hook_of(function) is None
