"""The execution of ops: converts and checks inputs, calls kernel or tracer, notifies tapes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from pinnace import late
from pinnace.framework import denormals, dtypes, float_warnings, tracebacks
from pinnace.framework.context import state
from pinnace.framework.convert import convert_to_tensor, holds_tensor
from pinnace.framework.dtype_advice import to_one_dtype
from pinnace.framework.errors import InvalidArgumentError, UnimplementedError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, OpaqueTensor, Operands, SymbolicTensor, Tensor, wrap
from pinnace.ops.kernels import halves
from pinnace.ops.opdef import ArgDef, InferCall, OpDef, explain, out_of_memory
from pinnace.ops.running import RunContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pinnace.framework.dtypes import DType

_EAGER_CONTEXT = RunContext()
# How many checked input specs an op remembers before its cache is cleared.
_CHECKED_LIMIT = 4096
_NDARRAY = np.ndarray
# Numbers of a gradient from which an eager optimizer's step flushes denormals (ADR 24): it makes a
# dozen passes over them, and setting the mode takes about 1 us.
_LARGE_STEP = 1 << 8
# Numbers of an array from which an op that can be shared between threads is.
_SHARED = 1 << 14
# Effects that must not happen twice; kernels with other effects may call the user's code.
_ONCE = frozenset({"write", "random"})


def execute(op: OpDef, *arguments: Any, name: str | None = None, **attrs: Any) -> Any:
    """Run `op`, or add it to the graph that is being traced.

    Args:
        op: the op.
        *arguments: one per argument of the signature; a sequence for a list argument.
        name: name of the node while tracing.
        **attrs: attributes that the inputs do not tell; the others have their defaults.

    Returns:
        A tensor; a tuple for several outputs, in which a list output is one tuple; None for no
        outputs.

    Raises:
        InvalidArgumentError: dtypes, shapes or values that the op does not take.
        TypeError, ValueError: a Python value that cannot become the tensor that is needed.
    """
    try:
        tracer = state.tracer
        key = None
        if tracer is None and op.repeatable:
            try:
                key = (
                    *[(x.__class__, x._array.shape, x._array.dtype) for x in arguments],
                    *attrs.items(),
                )
                repeat = op.repeats.get(key)
            except (
                AttributeError,
                TypeError,
            ):  # some are not eager tensors, or an attribute is unhashable
                key = repeat = None
            if repeat is not None:
                return _run_again(op, repeat, arguments)
        try:
            inputs = resolve(op, arguments, attrs)
        except CompositeGivenError:
            return late.execute_on_composites(op, arguments, name, attrs)
        if tracer is not None:
            outputs = tracer.add(op, inputs, attrs, name)
        else:
            outputs = run_eagerly(op, inputs, attrs)
            if key is not None:
                _remember(op, key, attrs, outputs[0])
        for tape in state.tapes:
            tape.record(op, inputs, attrs, outputs)  # type: ignore[arg-type]
        return shaped_result(op, outputs, attrs)  # type: ignore[arg-type]
    except Exception as error:
        tracebacks.cut(error)
        raise


# `execute` for an op with a single output tensor.
execute_one: Callable[..., Tensor] = execute
# `execute` for an op with several outputs.
execute_all: Callable[..., tuple[Any, ...]] = execute


class Repeat(NamedTuple):
    """The prepared repetition of an eager call with known dtypes, shapes and attributes."""

    kernel: Any
    options: dict[str, Any]
    attrs: dict[str, Any]


def _remember(op: OpDef, key: tuple[Any, ...], attrs: dict[str, Any], output: Tensor) -> None:
    kinds = [(kind, dtype.kind) for kind, _, dtype in key[: len(op.inputs)]]
    if type(output) is OpaqueTensor or any(
        kind is OpaqueTensor or letter == "O" for kind, letter in kinds
    ):
        return  # a string, a handle, a list, a quantised number: NumPy's dtype does not tell which
    if len(op.repeats) >= _CHECKED_LIMIT:
        op.repeats.clear()
    options = {name: attrs[name] if name in attrs else op.default(name) for name in op.kernel_attrs}
    op.repeats[key] = Repeat(_kernel_for(op, [key[0][2]]), options, attrs)


def _run_again(op: OpDef, repeat: Repeat, arguments: tuple[Any, ...]) -> Tensor:
    """Repeat an earlier call: nothing has to be converted, inferred or checked."""
    arrays = []
    for x in arguments:
        array = x._array
        arrays.append(array if type(array) is _NDARRAY else np.asarray(array))
    try:
        output = wrap(repeat.kernel(*arrays, **repeat.options))
    except Exception:  # a warning turned into an error, or invalid values
        output = run_eagerly(op, arguments, repeat.attrs)[0]
    for tape in state.tapes:
        tape.record(op, arguments, repeat.attrs, (output,))
    return output


def shaped_result(op: OpDef, outputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Flat outputs in the form that `execute` returns."""
    args = op.outputs
    if len(args) == 1:
        return outputs if args[0].is_list else outputs[0]
    if not args:
        return None
    packed: list[Any] = []
    position = 0
    for arg in args:
        if arg.is_list:
            count = op.input_count(arg, attrs)
            packed.append(tuple(outputs[position : position + count]))
            position += count
        else:
            packed.append(outputs[position])
            position += 1
    return tuple(packed)


def resolve(  # noqa: C901 (one loop over the arguments, without calls inside it)
    op: OpDef, arguments: Sequence[Any], attrs: dict[str, Any]
) -> tuple[Any, ...]:
    """The arguments as tensors, with tuples for lists; `attrs` is completed from them."""
    if len(arguments) != len(op.inputs):
        raise TypeError(
            f"{op.name} takes {len(op.inputs)} inputs ({op.signature}), got {len(arguments)}"
        )
    for key in attrs:
        if key not in op.attrs and key not in op.type_sets and key not in op.number_attrs:
            raise TypeError(f"{op.name} has no attribute {key!r}")
        definition = op.attrs.get(key)
        if definition is not None and definition.allowed and attrs[key] not in definition.allowed:
            listed = ", ".join(map(repr, definition.allowed))
            raise InvalidArgumentError(
                f"{op.name}: Value for attr {key!r} of {attrs[key]!r} is not in the list of "
                f"allowed values: {listed}"
            )
    inputs: list[Any] = list(arguments)
    waiting = []
    for index, arg in enumerate(op.inputs):
        value = inputs[index]
        if arg.number_attr or arg.list_attr:
            inputs[index] = _resolve_list(op, arg, value, attrs)
        elif isinstance(value, Operands):
            tensor = _tensor_of(value, arg)
            inputs[index] = tensor
            if arg.type_attr:
                _note_type(op, arg, tensor.dtype, attrs)
            elif tensor.dtype is not arg.dtype:
                _wrong_type(op, arg, tensor.dtype)
        else:
            if getattr(type(value), "_takes_ops", None) is not None:
                raise CompositeGivenError  # before another argument determines the dtype
            waiting.append(index)
    for index in waiting:
        arg = op.inputs[index]
        wanted = arg.dtype or attrs.get(arg.type_attr)
        inputs[index] = tensor = _convert(op, arg, inputs[index], wanted)
        if arg.type_attr:
            _note_type(op, arg, tensor.dtype, attrs)
    return tuple(inputs)


def _tensor_of(value: Operands, arg: ArgDef) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if arg.dtype is dtypes.resource:
        return value.handle  # type: ignore[attr-defined,no-any-return]
    return value._as_tensor()


class CompositeGivenError(Exception):
    """An argument is ragged or sparse, which the op does not support."""


def _convert(op: OpDef, arg: ArgDef, value: object, wanted: DType | None) -> Tensor:
    if getattr(type(value), "_takes_ops", None) is not None:
        raise CompositeGivenError
    hint = None
    if wanted is None and arg.type_attr:
        kinds = op.type_sets[arg.type_attr]
        # An array keeps its dtype if the op accepts it; Python values are converted.
        if not isinstance(value, (np.ndarray, np.generic)) or (
            kinds.default is not None
            and not any(kind.numpy == value.dtype for kind in kinds.allowed)
        ):
            hint = kinds.default
    try:
        if hint is not None and isinstance(value, (list, tuple)) and holds_tensor(value):
            packed = convert_to_tensor(value)
            allowed = packed.dtype in op.type_sets[arg.type_attr].allowed
            return packed if allowed else convert_to_tensor(value, hint)
        return convert_to_tensor(value, wanted, hint)
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(f"{op.name}: argument {arg.name}: {error}") from None


def _resolve_list(
    op: OpDef, arg: ArgDef, value: object, attrs: dict[str, Any]
) -> tuple[Tensor, ...]:
    if isinstance(value, Tensor) or not hasattr(value, "__iter__"):
        raise TypeError(f"{op.name}: argument {arg.name} is a list of tensors, got {value!r}")
    items = list(value)
    tensors: list[Tensor | None] = [
        _tensor_of(item, arg) if isinstance(item, Operands) else None for item in items
    ]
    if arg.list_attr:
        given = attrs.get(arg.list_attr)
        found = tuple(
            tensor if tensor is not None else _convert(op, arg, item, given[i] if given else None)
            for i, (tensor, item) in enumerate(zip(tensors, items, strict=True))
        )
        kinds = tuple(tensor.dtype for tensor in found)
        if given is not None and tuple(given) != kinds:
            raise InvalidArgumentError(
                f"{op.name}: {arg.list_attr} is {[t.name for t in given]}, "
                f"but {arg.name} has {[t.name for t in kinds]}"
            )
        attrs[arg.list_attr] = kinds
        return found
    attrs[arg.number_attr] = len(items)
    for tensor in tensors:
        if tensor is not None and arg.type_attr:
            _note_type(op, arg, tensor.dtype, attrs)
    wanted = arg.dtype or attrs.get(arg.type_attr)
    done = []
    for tensor, item in zip(tensors, items, strict=True):
        made = tensor if tensor is not None else _convert(op, arg, item, wanted)
        if arg.type_attr:
            _note_type(op, arg, made.dtype, attrs)
            wanted = attrs[arg.type_attr]
        done.append(made)
    return tuple(done)


def _first(op: OpDef, type_attr: str) -> str:
    return next(one.name for one in op.inputs if one.type_attr == type_attr)


def _note_type(op: OpDef, arg: ArgDef, dtype: DType, attrs: dict[str, Any]) -> None:
    """Check that all arguments of a type attribute agree, and that the op supports the type."""
    name = arg.type_attr
    known = attrs.get(name)
    if known is dtype:
        return
    if known is not None:
        raise InvalidArgumentError(
            f"{op.name}: all arguments of type {name} must have one dtype, got {dtype.name} for "
            f"{arg.name} beside {known.name}\n"
            f"  {op.signature}\n  Try: {to_one_dtype((_first(op, name), known), (arg.name, dtype))}"
        )
    if dtype not in op.type_sets[name].allowed:
        _wrong_type(op, arg, dtype)
    attrs[name] = dtype


def _wrong_type(op: OpDef, arg: ArgDef, dtype: DType) -> NoReturn:
    allowed = (
        [arg.dtype]
        if arg.dtype
        else sorted(op.type_sets[arg.type_attr].allowed, key=lambda t: t.enum)
    )
    names = ", ".join(t.name for t in allowed if t is not None)
    raise InvalidArgumentError(f"{op.name}: {arg.name} must be one of {names}, got {dtype.name}")


def run_eagerly(op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[Tensor, ...]:
    """The flat outputs of the kernel."""
    if op.eager is None:
        raise UnimplementedError(
            f"{op.name} cannot run eagerly: it has a meaning only inside a graph"
        )
    arrays = [
        tuple([_array(t) for t in value]) if type(value) is tuple else _array(value)
        for value in inputs
    ]
    kernel = _kernel_for(op, [a.dtype for a in arrays if not isinstance(a, tuple)])
    if not op.elementwise:
        check_specs(op, inputs, attrs)
    options = {name: attrs[name] if name in attrs else op.default(name) for name in op.kernel_attrs}
    if op.wants_ctx:
        options["ctx"] = _EAGER_CONTEXT
    if op.effect == "write" and any(
        isinstance(a, np.ndarray) and a.size >= _LARGE_STEP for a in arrays
    ):
        kernel = denormals.flushing(kernel)
    result = call_kernel(op, kernel, arrays, options, inputs)
    return wrap_outputs(op, result, attrs)


def _kernel_for(op: OpDef, kinds: Sequence[np.dtype[Any]]) -> Any:
    """What an eager call runs on arrays of these dtypes."""
    if op.wide and any(map(halves.is_half, kinds)):
        return halves.widened(op.kernel)
    return op.eager


def eager_kernel(op: OpDef) -> Any:
    """What eager calls of an op run: its kernel, if there is nothing faster for large arrays."""
    kernel: Any = op.kernel
    if kernel is None or not op.shared or not op.repeatable:
        return kernel

    def run(*arrays: Array, **options: Any) -> Any:
        if arrays[0].size >= _SHARED:
            found = _EAGER_CONTEXT.alone(op, arrays, options)
            if found is not None:
                return found
        return kernel(*arrays, **options)

    return run


def call_kernel(
    op: OpDef, kernel: Any, arrays: Sequence[Any], options: dict[str, Any], inputs: tuple[Any, ...]
) -> Any:
    """kernel(*arrays, **options), without overflow warnings, with errors as in inference."""
    # A kernel that is repeated after NumPy raises must not have written or drawn anything.
    silence = float_warnings.begin() if op.effect in _ONCE else None
    try:
        return kernel(*arrays, **options)
    except (RuntimeWarning, FloatingPointError):
        with np.errstate(all="ignore"):
            return kernel(*arrays, **options)
    except (ValueError, IndexError, TypeError) as error:
        if type(error).__module__ == "builtins":
            _explain_failure(op, inputs, options, error)
        raise
    except MemoryError as error:
        raise out_of_memory(error, op, input_specs(inputs)) from error
    finally:
        if silence is not None:
            float_warnings.end(silence)


def _explain_failure(
    op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any], error: Exception
) -> NoReturn:
    """NumPy's error, with inference's message if inference fails too, and details of the call."""
    specs = input_specs(inputs)
    op.infer(
        InferCall(op, specs, op.full_attrs(attrs), lambda index: np.asarray(inputs[index]._array))
    )
    raise InvalidArgumentError(explain(op, str(error), specs)) from error


def _array(tensor: Tensor) -> Array:
    if isinstance(tensor, SymbolicTensor):
        raise TypeError(
            f"{tensor!r} belongs to a function that is being traced, and was used outside of it.\n"
            "  A value must leave a traced function through its return value, not through a "
            "global, a list or self."
        )
    array = tensor._array
    return array if isinstance(array, np.ndarray) else np.asarray(array)


def wrap_outputs(op: OpDef, result: Any, attrs: dict[str, Any]) -> tuple[Tensor, ...]:
    """The outputs of a kernel as tensors."""
    args = op.outputs
    if len(args) == 1 and not args[0].is_list:
        return (wrap(result, args[0].dtype or attrs.get(args[0].type_attr)),)
    if not args:
        return ()
    return tuple(
        wrap(array, dtype) for array, dtype in zip(result, op.output_dtypes(attrs), strict=True)
    )


def input_specs(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The specs of resolved inputs."""
    return tuple(
        tuple(TensorSpec(t.shape, t.dtype) for t in value)
        if type(value) is tuple
        else TensorSpec(value.shape, value.dtype)
        for value in inputs
    )


def check_specs(op: OpDef, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> None:
    """Cached shape inference, so that eager and traced calls fail with the same message."""
    try:
        key = (
            *[
                tuple([(t._array.shape, t._array.dtype) for t in value])
                if type(value) is tuple
                else (value._array.shape, value._array.dtype)
                for value in inputs
            ],
            *attrs.items(),
        )
        if key in op.checked:
            return
    except TypeError:  # an attribute that cannot be hashed
        key = None
    op.infer(InferCall(op, input_specs(inputs), op.full_attrs(attrs)))
    if key is not None:
        if len(op.checked) >= _CHECKED_LIMIT:
            op.checked.clear()
        op.checked.add(key)


def infer_shapes(op: OpDef, call: InferCall, count: int) -> tuple[Shape, ...]:
    """One shape per output, from any form that `infer` may return."""
    shapes = op.infer(call)
    if isinstance(shapes, Shape):
        return (shapes,) * count
    return tuple(shapes)


@contextlib.contextmanager
def forced_context(context: RunContext) -> Iterator[None]:
    """Eager kernels inside the block run under `context`; for tests of seeds and cancellation."""
    global _EAGER_CONTEXT
    saved = _EAGER_CONTEXT
    _EAGER_CONTEXT = context
    try:
        yield
    finally:
        _EAGER_CONTEXT = saved


def eager_context() -> RunContext:
    """The context of kernels that run eagerly: its random streams."""
    return _EAGER_CONTEXT
