"""`execute` and the eager fast paths: the same results, however short the path to the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.framework import dtypes
from pinnace.framework.context import pop_tape, push_tape
from pinnace.framework.tensor import wrap
from pinnace.ops import entries, registry
from pinnace.ops.execute import execute
from pinnace.ops.opdef import NOT_DIFFERENTIABLE, OpDef, attr, typed

if TYPE_CHECKING:
    from collections.abc import Callable

OPS = registry.registered()
PLAIN = sorted(name for name, op in OPS.items() if entries._is_plain(op, {}))
# Equal, broadcasting, empty, square and incompatible shapes.
SHAPES = [
    ((), ()),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2, 1), (1, 3)),
    ((0,), (1,)),
    ((3, 3), (3, 3)),
    ((2, 2, 2), (2, 2, 2)),
    ((2,), (3,)),
]


def drawn_inputs(op: OpDef, data: st.DataObject) -> list[tf.Tensor]:
    """Tensors of one dtype that the op accepts."""
    allowed = sorted(entries._allowed(op, op.inputs[0]), key=lambda t: t.enum)
    dtype = data.draw(st.sampled_from(allowed), label="dtype")
    shapes = data.draw(st.sampled_from(SHAPES), label="shapes")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    return [tensor_of(rng.integers(-3, 6, shape), dtype) for shape in shapes[: len(op.inputs)]]


def tensor_of(numbers: Any, dtype: tf.DType) -> tf.Tensor:
    """The numbers in a dtype; as text if it is string."""
    if dtype is tf.string:
        return tf.constant(np.array(numbers).astype(str))
    return wrap(np.asarray(numbers).astype(dtype.numpy))


def outcome(call: Callable[[], Any]) -> tuple[Any, Any]:
    """The result of a call: dtype and array, or error class and message."""
    try:
        result = call()
    except Exception as error:
        return type(error), str(error)
    return result.dtype, np.asarray(result)


def assert_same(got: tuple[Any, Any], wanted: tuple[Any, Any]) -> None:
    assert got[0] is wanted[0]
    if isinstance(got[1], np.ndarray) and got[1].dtype.kind == "V":  # dtypes without NaN in NumPy
        got, wanted = [(kind, values.astype(np.float64)) for kind, values in (got, wanted)]
    np.testing.assert_array_equal(got[1], wanted[1], strict=True)


def new_op(name: str, kernel: Any, **options: Any) -> OpDef:
    """An op of this test, not in the registry."""
    made = OpDef(
        **{
            "name": name,
            "signature": "x: T -> y: T",
            "types": {"T": dtypes.FLOATS},
            "infer": registry.same_as_input,
            "kernel": kernel,
            "gradient": NOT_DIFFERENTIABLE,
            **options,
        }
    )
    made.entry = entries.make_entry(made)
    return made


@pytest.mark.parametrize("name", PLAIN)
@given(data=st.data())
def test_an_entry_and_a_remembered_call_give_what_a_first_call_gives(
    name: str, data: st.DataObject
) -> None:
    op = OPS[name]
    inputs = drawn_inputs(op, data)
    op.repeats.clear()
    op.checked.clear()
    first = outcome(lambda: execute(op, *inputs))
    remembered = len(op.repeats)
    assert remembered <= 1
    assert not (remembered and any(np.asarray(x).dtype == object for x in inputs))
    assert_same(outcome(lambda: execute(op, *inputs)), first)
    assert len(op.repeats) == remembered
    assert_same(outcome(lambda: op.entry(*inputs)), first)
    assert_same(outcome(lambda: op.entry(*inputs)), first)  # inference has passed these shapes
    assert_same(outcome(lambda: op.entry(*inputs, "named")), first)


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_entry_refuses_what_execute_refuses(name: str) -> None:
    op = OPS[name]
    allowed = entries._allowed(op, op.inputs[0])
    inputs = [tensor_of(1, sorted(dtypes.ANY_VALUE - allowed, key=lambda t: t.enum)[0])] * len(
        op.inputs
    )
    refused = outcome(lambda: execute(op, *inputs))
    assert refused[0] is tf.errors.InvalidArgumentError
    assert_same(outcome(lambda: op.entry(*inputs)), refused)


@pytest.mark.parametrize("name", ["AddV2", "Sub", "Maximum", "RealDiv", "Pow", "Less", "FloorMod"])
@given(data=st.data(), left=st.booleans())
def test_a_plain_entry_takes_variables_and_numbers_as_execute_does(
    name: str, data: st.DataObject, left: bool
) -> None:
    op = OPS[name]
    x, y = drawn_inputs(op, data)
    number = data.draw(st.one_of(st.integers(-3, 5), st.sampled_from([0.5, 2.0])))
    for other in (tf.Variable(y), number):
        pair = (other, x) if left else (x, other)
        assert_same(outcome(lambda p=pair: op.entry(*p)), outcome(lambda p=pair: execute(op, *p)))


@pytest.mark.parametrize("name", ["Neg", "Square", "Softmax", "AddV2", "MatMul", "Maximum"])
def test_a_tape_sees_entry_and_execute_alike(name: str) -> None:
    op = OPS[name]
    inputs = [tf.constant([[1.0, 2.0], [3.0, 4.0]])] * len(op.inputs)
    seen: list[tuple[Any, ...]] = []

    class Notebook:
        def record(self, *what: Any) -> None:
            seen.append(what)

    notebook: Any = Notebook()
    for call in (execute, lambda op, *xs: op.entry(*xs)) * 2:
        push_tape(notebook)
        try:
            result = call(op, *inputs)
        finally:
            pop_tape(notebook)
        ((recorded, arguments, _, outputs),) = seen
        assert recorded is op
        assert [id(x) for x in arguments] == [id(x) for x in inputs]
        assert [id(y) for y in outputs] == [id(result)]
        seen.clear()


def test_a_remembered_call_is_not_taken_for_one_with_other_attributes_shapes_or_dtypes() -> None:
    runs: list[tuple[Any, ...]] = []

    def kernel(x: Any, *, n: int) -> Any:
        runs.append((x.dtype.name, x.shape, n))
        return x * n

    op = new_op("Times", kernel, attrs={"n": attr("int", default=2)})
    one, two = tf.constant([1.0]), tf.constant([1.0, 2.0])
    for _ in range(2):
        assert float(execute(op, one)[0]) == 2
        assert float(execute(op, one, n=5)[0]) == 5
        assert float(execute(op, two)[1]) == 4
        assert execute(op, tf.constant([1.0], tf.float64)).dtype is tf.float64
    assert len(op.repeats) == 4
    assert runs[:4] == runs[4:]


def test_a_failed_call_is_not_remembered() -> None:
    def kernel(x: Any) -> Any:
        if x[0] < 0:
            raise tf.errors.InvalidArgumentError("Picky: x must not be negative")
        return x

    op = new_op("Picky", kernel)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not be negative"):
        execute(op, tf.constant([-1.0]))
    assert not op.repeats
    execute(op, tf.constant([1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must not be negative"):
        execute(op, tf.constant([-1.0]))  # the same message when it is repeated


def test_a_call_on_object_arrays_is_never_remembered() -> None:
    op = new_op("Same", lambda x: x, types={"T": dtypes.ANY}, elementwise=True)
    text = tf.constant(["a"])
    handle = tf.Variable(1.0).handle
    for _ in range(2):
        assert execute(op, text).dtype is tf.string
        assert execute(op, handle).dtype is tf.resource
    assert not op.repeats


def test_calls_with_effects_are_never_remembered() -> None:
    v = tf.Variable(1.0)
    for wanted in (2.0, 3.0, 4.0):
        v.assign_add(1.0)
        assert float(v) == wanted
    assert all(not op.repeats for op in OPS.values() if op.stateful)


def test_what_is_remembered_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinnace.ops.execute._CHECKED_LIMIT", 8)
    monkeypatch.setattr(entries, "_PASSED_LIMIT", 8)
    op = new_op("Same", lambda x: x)
    for size in range(50):
        x = tf.zeros([size])
        assert execute(op, x).shape == [size]
        assert op.entry(x).shape == [size]
    assert len(op.repeats) <= 8
    assert len(op.checked) <= 8


def test_an_unknown_attribute_is_refused() -> None:
    with pytest.raises(TypeError, match="Neg has no attribute 'axis'"):
        execute(OPS["Neg"], tf.constant(1.0), axis=0)


def test_a_required_attribute_is_asked_for() -> None:
    op = new_op("Times", lambda x, *, n: x * n, attrs={"n": attr("int")})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Times: attribute 'n' is required"):
        execute(op, tf.constant([1.0]))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_number_of_inputs_is_checked(count: int) -> None:
    with pytest.raises(TypeError, match=f"AddV2 takes 2 inputs .*got {count}"):
        execute(OPS["AddV2"], *[tf.constant(1.0)] * count)


def test_a_wrong_dtype_is_refused_with_op_argument_allowed_and_given() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        execute(OPS["Sqrt"], tf.constant(1))
    told = str(caught.value)
    assert told.startswith("Sqrt: x must be one of float32, float64, ")
    assert told.endswith(", got int32")


def test_a_wrong_fixed_dtype_is_refused_alike() -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="LogicalNot: x must be one of bool, got float32"
    ):
        execute(OPS["LogicalNot"], tf.constant(1.0))


def test_mixed_dtypes_are_refused_with_the_advice_to_cast() -> None:
    for call in (execute, lambda op, *xs: op.entry(*xs)):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            call(OPS["AddV2"], tf.constant(1.0), tf.constant(1))
        told = str(caught.value)
        assert told.startswith(
            "AddV2: all arguments of type T must have one dtype, got int32 for y beside float32"
        )
        assert told.endswith("Try: cast(y, 'float32')")


def test_a_python_value_that_does_not_fit_is_refused_by_op_and_argument() -> None:
    with pytest.raises(TypeError, match=r"AddV2: argument y: cannot convert 'a'|strings"):
        execute(OPS["AddV2"], tf.constant(1), "a")
    with pytest.raises(ValueError, match="AddV2: argument y: a nested sequence must be rect"):
        execute(OPS["AddV2"], tf.constant(1), [[1], [1, 2]])


def test_what_a_kernel_refuses_is_told_with_the_op_and_its_inputs() -> None:
    def kernel(_: Any) -> Any:
        raise ValueError("the moon is full")

    op = new_op("Howl", kernel)
    for call in (lambda: execute(op, tf.constant([1.0, 2.0])),) * 2:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            call()
        assert str(caught.value) == "Howl: the moon is full\n  x: float32[2]"
        assert isinstance(caught.value.__cause__, ValueError)


def test_what_inference_would_have_refused_is_told_in_its_words() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as eager:
        tf.constant([1.0, 2.0]) + tf.constant([1.0, 2.0, 3.0])

    @tf.function
    def f(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return x + y

    with pytest.raises(tf.errors.InvalidArgumentError) as traced:
        f(tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0, 3.0]))
    assert str(eager.value) == str(traced.value)
    assert str(eager.value).startswith("AddV2: shapes must broadcast")


def test_an_error_of_the_library_keeps_its_words() -> None:
    def kernel(_: Any) -> Any:
        raise tf.errors.OutOfRangeError("Tide: the sea is empty")

    with pytest.raises(tf.errors.OutOfRangeError, match="Tide: the sea is empty"):
        execute(new_op("Tide", kernel), tf.constant(1.0))


def test_overflow_is_a_value_and_no_warning() -> None:
    big = tf.constant(3e38)
    with np.errstate(all="raise"):
        assert np.isinf((big + big).numpy())
        assert np.isinf(execute(OPS["AddV2"], big, big).numpy())
        assert np.isnan((tf.constant(0.0) / tf.constant(0.0)).numpy())


def test_a_step_that_overflows_is_made_once() -> None:
    variable, velocity = tf.Variable([3e38, 1.0]), tf.Variable([3e38, 1.0])
    with np.errstate(all="raise"):
        tf.raw_ops.ResourceApplyKerasMomentum(
            var=variable.handle, accum=velocity.handle, lr=1.0, grad=[0.0, 2.0], momentum=1.0
        )
    # accum -= grad; var += accum, which overflows.
    np.testing.assert_array_equal(velocity, [np.float32(3e38), -1.0])
    np.testing.assert_array_equal(variable, [np.inf, 0.0])


@pytest.mark.filterwarnings("error")
def test_a_remembered_call_that_overflows_is_seen_by_the_tape() -> None:
    x = tf.constant([1000.0])
    for _ in range(2):
        with tf.GradientTape() as tape, np.errstate(over="raise"):
            tape.watch(x)
            y = execute(OPS["Exp"], x)
        assert np.isinf(tape.gradient(y, x).numpy())


def test_an_op_without_a_kernel_does_not_run_eagerly() -> None:
    op = new_op("Dream", None)
    with pytest.raises(tf.errors.UnimplementedError, match="Dream cannot run eagerly"):
        execute(op, tf.constant(1.0))


def test_a_symbolic_tensor_that_left_its_function_is_refused() -> None:
    kept: list[tf.Tensor] = []

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        kept.append(x)
        return x

    f(tf.constant(1.0))
    with pytest.raises(TypeError, match="belongs to a function that is being traced"):
        execute(OPS["Neg"], kept[0])
    with pytest.raises(TypeError, match="must leave a traced function through its return value"):
        _ = kept[0] + 1.0


def test_outputs_have_the_form_the_signature_promises() -> None:
    def made(right: str, kernel: Any, count: int) -> OpDef:
        return new_op(
            "Split",
            kernel,
            signature=f"x: T -> {right}",
            infer=lambda call: (call.spec(0).shape,) * count,
            attrs={"N": attr("int", default=2)} if "N*" in right else {},
        )

    x = tf.constant([1.0])
    assert execute(made("", lambda _: None, 0), x) is None
    assert type(execute(made("a: T", lambda x: x, 1), x)) is tf.Tensor
    two = execute(made("a: T, b: T", lambda x: (x, x + 1), 2), x)
    assert type(two) is tuple
    assert [float(y[0]) for y in two] == [1, 2]
    listed = execute(made("a: N*T", lambda x: (x, x + 1), 2), x, N=2)
    assert type(listed) is tuple
    first, rest = execute(made("a: T, b: N*T", lambda x: (x, x + 1, x + 2), 3), x, N=2)
    assert float(first[0]) == 1
    assert [float(y[0]) for y in rest] == [2, 3]


def test_a_list_argument_must_be_a_list() -> None:
    with pytest.raises(TypeError, match="Pack: argument values is a list of tensors"):
        execute(OPS["Pack"], tf.constant(1.0))


def test_values_in_a_list_take_the_dtype_of_the_tensors_among_them() -> None:
    x = execute(OPS["Pack"], [1, tf.constant(2.0), 3])
    assert x.dtype is tf.float32
    np.testing.assert_array_equal(x, [1, 2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have one dtype, got int32"):
        execute(OPS["Pack"], [tf.constant(1.0), tf.constant(1)])


def test_inference_is_asked_once_for_each_spec() -> None:
    asked: list[Any] = []

    def infer(call: Any) -> Any:
        asked.append(call.spec(0).shape)
        return call.spec(0).shape

    op = new_op("Same", lambda x: x, infer=infer)
    for _ in range(3):
        execute(op, tf.constant([1.0]))
        execute(op, tf.constant([1.0, 2.0]))
    assert asked == [[1], [2]]


def test_a_repeated_call_knows_quantised_numbers_from_plain_ones() -> None:
    # NumPy has one dtype for both.
    for _ in range(3):
        plain = tf.constant([1, 2])
        quantised = tf.bitcast(plain, tf.qint32)
        assert quantised.dtype is tf.qint32
        assert tf.bitcast(quantised, tf.int32).dtype is tf.int32
        assert tf.reshape(plain, [1, 2]).dtype is tf.int32
        assert tf.reshape(quantised, [1, 2]).dtype is tf.qint32


def test_an_array_keeps_its_dtype_where_the_op_has_a_default() -> None:
    op = OpDef(
        name="Same",
        signature="x: T -> y: T",
        types={"T": typed({tf.uint8, tf.uint16}, default=tf.uint8)},
        infer=lambda call: call.spec(0).shape,
        kernel=lambda x: x,
        gradient=NOT_DIFFERENTIABLE,
    )
    assert execute(op, [3]).dtype is tf.uint8
    assert execute(op, np.array([3], np.uint16)).dtype is tf.uint16
