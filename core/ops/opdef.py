"""OpDef: the complete definition of an op."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np

from pinnace.framework import dtypes
from pinnace.framework.errors import InvalidArgumentError, ResourceExhaustedError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from pinnace.framework.dtypes import DType
    from pinnace.framework.tensor import Array, Tensor
    from pinnace.ops.batch_rules import BatchRule
    from pinnace.ops.flops import Count

Attrs: TypeAlias = Mapping[str, Any]
Specs: TypeAlias = TensorSpec | tuple[TensorSpec, ...]
Effect: TypeAlias = Literal["read", "write", "random", "io"]
Flow: TypeAlias = Literal["call", "branch", "loop"]
Division: TypeAlias = tuple[Literal["quotient", "remainder"], Literal["exact", "floor", "truncate"]]
Moves: TypeAlias = Literal["concatenate", "stack", "split", "unstack", "slice", "reverse", "repeat"]


class NotDifferentiable:
    """The marker of an op without a gradient."""

    def __repr__(self) -> str:
        return "NOT_DIFFERENTIABLE"


NOT_DIFFERENTIABLE = NotDifferentiable()


class NoGradientDefined:
    """The mark of an op without a registered gradient in TensorFlow: requesting it is an error.

    It is a gradient function that raises when called, so that tapes and functions need no check.
    """

    def __call__(self, call: OpCall, *_: Tensor | None) -> NoReturn:
        """Raise LookupError with the op and a remedy."""
        node = getattr(getattr(call.outputs[0], "value", None), "node", None)
        raise LookupError(
            f"No gradient defined for operation {getattr(node, 'name', call.op.name)!r} "
            f"(op type: {call.op.name}): gradient registry has no entry for: {call.op.name}\n"
            "  Try: stop_gradient around its inputs or its result to treat it as a constant, or "
            "custom_gradient around a function of your own that calls it"
        )

    def __repr__(self) -> str:
        return "NO_GRADIENT_DEFINED"


NO_GRADIENT_DEFINED = NoGradientDefined()


class GradientAbove:
    """The mark of an op whose gradient uses ops of higher files, one of which defines it.

    See `registry.gradient_of`; once `ops` is imported, no op has this mark any more.
    """

    def __call__(self, call: OpCall, *_: Tensor | None) -> NoReturn:
        """Raise RuntimeError: the file with the gradient was not imported."""
        raise RuntimeError(f"no file has given {call.op.name} its gradient")

    def __repr__(self) -> str:
        return "GRADIENT_ABOVE"


GRADIENT_ABOVE = GradientAbove()


# Functions in `OpDef.fuse` that NumPy computes much more slowly than the engine's kernels.
SLOW = frozenset({"erf", "erfc", "exp", "expm1", "log", "log1p", "sigmoid", "tanh"})


_OF_NAMES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"


def calls_slow(expression: str) -> bool:
    """Whether an expression calls one of `SLOW`."""
    pieces = expression.split("(")[:-1]
    return any(piece[len(piece.rstrip(_OF_NAMES)) :] in SLOW for piece in pieces)


@dataclass(frozen=True, slots=True)
class TypeSet:
    """The dtypes that a type attribute may have, and TensorFlow's default, if any."""

    allowed: frozenset[DType]
    default: DType | None = None


def typed(allowed: Iterable[DType], default: DType) -> TypeSet:
    """A type attribute with a default."""
    return TypeSet(frozenset(allowed), default)


_REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class AttrDef:
    """An attribute that does not follow from inputs."""

    kind: str
    default: Any = _REQUIRED
    allowed: tuple[Any, ...] = ()

    @property
    def required(self) -> bool:
        """Whether the attribute must be given."""
        return self.default is _REQUIRED


def attr(kind: str, default: Any = _REQUIRED, allowed: Sequence[Any] = ()) -> AttrDef:
    """An attribute.

    Args:
        kind: int, float, bool, string, shape, tensor, type, func, or list(kind).
        default: TensorFlow's default; none means that it must be given.
        allowed: the only values it may have.
    """
    return AttrDef(kind, default, tuple(allowed))


@dataclass(frozen=True, slots=True)
class ArgDef:
    """An input or output of a signature, with one of `dtype`, `type_attr`, `list_attr` set."""

    name: str
    dtype: DType | None = None
    type_attr: str = ""
    number_attr: str = ""
    list_attr: str = ""

    @property
    def is_list(self) -> bool:
        """Whether the argument is a list of tensors."""
        return bool(self.number_attr or self.list_attr)


_OPAQUE_NAMES = frozenset({"resource", "variant", "qint8", "quint8", "qint16", "quint16", "qint32"})
# Parsed arguments: signatures repeat a small number of them.
_args: dict[tuple[str, bool], ArgDef] = {}


def _parse_args(text: str, types: Mapping[str, object]) -> tuple[ArgDef, ...]:
    args = []
    for piece in text.split(","):
        part = piece.strip()
        if part:
            kind = part.rpartition(":")[2].rpartition("*")[2].strip()
            key = (part, kind in types)
            found = _args.get(key)
            if found is None:
                found = _args[key] = _parse_arg(part, key[1])
            args.append(found)
    return tuple(args)


def _parse_arg(part: str, is_type_attr: bool) -> ArgDef:
    # Without `re`: compiling an expression takes as long as parsing a hundred arguments.
    name, _, kind = part.partition(":")
    kind = kind.strip()
    listed = kind[1:-1] if kind[:1] == "(" and kind[-1:] == ")" else ""
    number, star, kind = ("", "", kind) if listed else kind.rpartition("*")
    words = (name, listed) if listed else (name, kind, number) if star else (name, kind)
    if not all(word.isidentifier() for word in words):
        raise ValueError(
            f"signature: cannot read {part!r}; write `name: T`, `name: float32`, "
            "`name: N*T` or `name: (Tin)`"
        )
    if listed:
        return ArgDef(name, list_attr=listed)
    if is_type_attr:
        return ArgDef(name, type_attr=kind, number_attr=number)
    return ArgDef(name, dtype=dtypes.as_dtype(kind), number_attr=number)


class InferCall:
    """A call in shape inference: specs, attributes and known values."""

    __slots__ = ("_constants", "attrs", "inputs", "op")

    def __init__(
        self,
        op: OpDef,
        inputs: tuple[Specs, ...],
        attrs: Attrs,
        constants: Callable[[int], Array | None] | None = None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self._constants = constants

    def spec(self, index: int) -> TensorSpec:
        """The spec of input `index`, which is not a list."""
        found = self.inputs[index]
        assert isinstance(found, TensorSpec)  # noqa: S101 (a wrong signature is our own mistake)
        return found

    def specs(self, index: int) -> tuple[TensorSpec, ...]:
        """The specs of the list input `index`."""
        found = self.inputs[index]
        return found if isinstance(found, tuple) else (found,)

    def constant(self, index: int) -> Array | None:
        """The value of input `index` if it is known, else None."""
        return None if self._constants is None else self._constants(index)

    def shape_constant(self, index: int) -> Shape:
        """The value of input `index`, a vector of sizes, as a shape; -1 and unknown are None."""
        value = self.constant(index)
        if value is not None:
            return (
                Shape(None)
                if value.ndim != 1
                else Shape([None if n < 0 else int(n) for n in value])
            )
        spec = self.spec(index).shape
        if spec.rank == 1 and spec[0] is not None:
            return Shape([None] * int(spec[0]))
        return Shape(None)

    def handle(self, index: int) -> TensorSpec | None:  # noqa: ARG002 (a graph's call needs it)
        """The spec of the variable behind the resource input `index`, if known."""
        return None

    def fail(self, problem: str, *facts: str) -> NoReturn:
        """Raise InvalidArgumentError with the op, the problem and the inputs."""
        raise InvalidArgumentError(explain(self.op, problem, self.inputs, facts))


def explain(op: OpDef, problem: str, inputs: Sequence[Specs], facts: Sequence[str] = ()) -> str:
    """An error message: `Op: problem`, each input as `name: dtype[shape]`, then the facts."""
    given = []
    for arg, spec in zip(op.inputs, inputs, strict=False):
        text = ", ".join(one.text for one in spec) if isinstance(spec, tuple) else spec.text
        given.append(f"{arg.name}: {text}")
    lines = [f"{op.name}: {problem}"]
    if given:
        lines.append("  " + "   ".join(given))
    lines.extend(f"  {fact}" for fact in facts)
    return "\n".join(lines)


def out_of_memory(
    error: MemoryError, op: OpDef, inputs: Sequence[Specs], where: str = ""
) -> ResourceExhaustedError:
    """An out-of-memory error with the op added; `error` itself if it names one."""
    if isinstance(error, ResourceExhaustedError):
        return error
    return ResourceExhaustedError(explain(op, str(error) or "there is no memory", inputs) + where)


class OpCall:
    """One call of an op, the argument of its gradient function.

    `inputs` has one entry per argument of the signature (a tuple for a list argument), `outputs` is
    flat.
    """

    __slots__ = ("attrs", "inputs", "op", "outputs", "wanted")

    def __init__(
        self,
        op: OpDef,
        inputs: tuple[Any, ...],
        attrs: Attrs,
        outputs: tuple[Tensor, ...],
        wanted: Container[int] | None = None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.outputs = outputs
        self.wanted = wanted

    def needs(self, index: int) -> bool:
        """Whether the gradient of input `index` is used; if not, it may be skipped."""
        return self.wanted is None or id(self.inputs[index]) in self.wanted

    def attr(self, name: str) -> Any:
        """An attribute, or its default if it was not given."""
        if name in self.attrs:
            return self.attrs[name]
        return self.op.default(name)


def handed_on(_: OpCall, dy: Tensor) -> tuple[Tensor]:
    """The gradient of an identity-like op: `dy`, slices or dense."""
    return (dy,)


Kernel: TypeAlias = Callable[..., Any]
Infer: TypeAlias = Callable[[InferCall], Shape | tuple[Shape, ...]]
Gradient: TypeAlias = Callable[..., tuple[Any, ...]] | NotDifferentiable


@dataclass(eq=False, slots=True, kw_only=True)
class OpDef:
    """An op: its name on disk, signature, shape inference, kernel, gradient and fused form.

    Args:
        name: the name in GraphDefs; it never changes.
        signature: `a: T, b: T -> product: T`; `N*T` and `(Tin)` are lists; a word that is in
            `types` is a type attribute, any other a dtype.
        types: the dtypes of each type attribute.
        attrs: the other attributes.
        infer: the shapes of the outputs from the specs of the inputs.
        kernel: arrays to arrays; None for an op that only a graph has.
        gradient: written with ops; NOT_DIFFERENTIABLE gives None, as TensorFlow's function that
            gives None does; NO_GRADIENT_DEFINED raises, where TensorFlow has registered nothing;
            GRADIENT_ABOVE: it stands in a higher file, after `registry.gradient_of`.
        effect: its side effect; None for a pure op. With `read` and `write` the first argument is
            the resource.
        elementwise: NumPy itself refuses shapes that do not broadcast, so that eager calls need no
            inference.
        out: the kernel takes `out=`, an array to fill with its output, the first of several.
        fuse: a scalar expression in `{argument}`, `{attribute}` (a float one) and `T(constant)`; a
            list argument is written with what stands between its tensors, `{inputs: + }`.
        shared: NumPy is slow on large arrays of float32, which the engine's kernels share between
            threads; true of each op whose `fuse` calls a function of `SLOW`, or chooses.
        wide: its kernel computes on large arrays of 16-bit floats in float32; true of each op with
            a `fuse`.
        fuse_row: reduces a row of them to one number: the `max` or `sum` of all, and a scalar
            expression in that `{total}` and their number, `width`.
        alias: each output is the input of that place, and nothing else happens: plans leave it out,
            and what is known of a variable behind a handle is known behind the output.
        forwards: the output is the first input, but the op has a reason to stay: it checks, or may
            be fed something else.
        view: the kernel may give all of its first input back, seen in another shape: `reshaped`
            leaves the order of the elements, `permuted` does not.
        fresh: a kernel without `out` whose results are new arrays, whatever it is given.
        in_place: does what the kernel does, in loops: its first input is the only element of a
            list, and may be written into and given back if nobody else has it (`kernels.sole`).
        shape_query: the shapes of its inputs determine its outputs.
        static: programs compute sizes with it, so its kernel runs while a graph is traced, as far
            as its inputs are known.
        runs: runs the functions in its attributes: one, once (`call`); one of several, which the
            first input chooses (`branch`); `body` while `cond` holds (`loop`).
        product: BLAS, or a kernel that shares its work between threads, multiplies here.
        packs: the kernel keeps its second tensor in another form, if told that it stays the same.
        sums: the output is the sum of the inputs.
        flops: counts the floating-point operations of a call; None is unknown. Elementwise ops,
            views and shape queries are counted without it.
        moves: copies elements: joins tensors along the axis that is its last input (`concatenate`)
            or along a new axis (`stack`), cuts one along an axis that stays (`split`) or goes
            (`unstack`), takes a part of one (`slice`), turns axes round (`reverse`), or puts one
            next to itself (`repeat`).
        divides: gives the quotient or the remainder of its two inputs, rounded down (`floor`) or
            towards zero (`truncate`); an `exact` quotient is rounded, towards zero, only of
            integers.
        mutex: locks or unlocks a mutex: effects in between stay there.
        together: does what the kernel does for several steps that follow one another and have the
            same attributes: it takes an iterator of the tuples of their arguments, each when it has
            done with those before. Only of ops without outputs.
        batch: how it takes a batch axis; elementwise ops have a rule without saying so.
        traceless: later ops do not depend on its effect: it checks, prints, or is idle.
        reaches: the resources outside of the process that it uses, "files", "Python" or "the
            terminal", by its attributes if it depends on them; "" is nothing.
        guarded: the kernel that `gate.py` gives a loaded model instead; None refuses.
    """

    name: str
    signature: str
    infer: Infer
    kernel: Kernel | None
    gradient: Gradient
    types: Mapping[str, TypeSet | frozenset[DType]] = field(default_factory=dict)
    attrs: Mapping[str, AttrDef] = field(default_factory=dict)
    effect: Effect | None = None
    elementwise: bool = False
    out: bool = False
    fuse: str | None = None
    shared: bool = False
    wide: bool = False
    fuse_row: tuple[Literal["max", "sum"], str] | None = None
    alias: bool = False
    forwards: bool = False
    view: Literal["reshaped", "permuted"] | None = None
    fresh: bool = False
    in_place: Kernel | None = None
    shape_query: bool = False
    static: bool = False
    runs: Flow | None = None
    product: Literal["matrix", "convolution", "einsum"] | None = None
    packs: bool = False
    sums: bool = False
    flops: Count | None = None
    moves: Moves | None = None
    divides: Division | None = None
    mutex: Literal["lock", "unlock"] | None = None
    together: Kernel | None = None
    batch: BatchRule | None = None
    traceless: bool = False
    reaches: str | Callable[[Attrs], str] = ""
    guarded: Kernel | None = None
    # Derived attributes.
    inputs: tuple[ArgDef, ...] = field(init=False)
    outputs: tuple[ArgDef, ...] = field(init=False)
    type_sets: dict[str, TypeSet] = field(init=False)
    kernel_attrs: tuple[str, ...] = field(init=False)
    wants_ctx: bool = field(init=False)
    family: str = field(init=False)
    # `execute_one` of this op in as few steps as Python allows.
    entry: Callable[..., Tensor] = field(init=False)
    list_types: tuple[str, ...] = field(init=False)
    number_attrs: tuple[str, ...] = field(init=False)
    checked: set[object] = field(init=False)
    repeats: dict[object, Any] = field(init=False)
    repeatable: bool = field(init=False)
    # What eager calls run: `kernel`, or what shares large arrays between threads.
    eager: Any = field(init=False)

    def __post_init__(self) -> None:
        left, _, right = self.signature.partition("->")
        self.type_sets = {
            name: allowed if isinstance(allowed, TypeSet) else TypeSet(frozenset(allowed))
            for name, allowed in self.types.items()
        }
        self.inputs = _parse_args(left, self.type_sets)
        self.outputs = _parse_args(right, self.type_sets)
        args = (*self.inputs, *self.outputs)
        self.list_types = tuple(dict.fromkeys(arg.list_attr for arg in args if arg.list_attr))
        self.number_attrs = tuple(dict.fromkeys(arg.number_attr for arg in args if arg.number_attr))
        asked, self.wants_ctx = _kernel_parameters(self.kernel)
        owned = {*self.attrs, *self.type_sets, *self.list_types, *self.number_attrs}
        self.kernel_attrs = tuple(name for name in asked if name in owned)
        form = self.fuse or ""
        self.wide = self.wide or self.fuse is not None
        self.shared = self.shared or " if " in form or calls_slow(form)
        self.checked = set()
        self.repeats = {}
        self.repeatable = self._is_repeatable()
        self.eager = self.kernel

    def _is_repeatable(self) -> bool:
        """Whether an eager call depends only on dtypes, shapes and attributes.

        It must return one plain tensor.
        """
        if self.kernel is None or self.effect is not None or self.wants_ctx or not self.inputs:
            return False
        if (
            any(arg.is_list for arg in self.inputs)
            or len(self.outputs) != 1
            or self.outputs[0].is_list
        ):
            return False
        output = self.outputs[0]
        return output.dtype is None or output.dtype.name not in _OPAQUE_NAMES

    @property
    def stateful(self) -> bool:
        """Whether it has side effects or depends on anything but its inputs."""
        return self.effect is not None

    def reach(self, attrs: Attrs) -> str:
        """The external resources it accesses with these attributes; "" for none."""
        return self.reaches if isinstance(self.reaches, str) else self.reaches(attrs)

    @property
    def differentiable(self) -> bool:
        """Whether it has a gradient."""
        return not isinstance(self.gradient, NotDifferentiable | NoGradientDefined)

    def default(self, name: str) -> Any:
        """The default of an attribute; InvalidArgumentError if it must be given."""
        if name in self.type_sets:
            default = self.type_sets[name].default
            if default is not None:
                return default
        elif name in self.attrs and not self.attrs[name].required:
            return self.attrs[name].default
        raise InvalidArgumentError(f"{self.name}: attribute {name!r} is required")

    def full_attrs(self, attrs: Attrs) -> dict[str, Any]:
        """`attrs`, with defaults for missing ones."""
        full = dict(attrs)
        for name, definition in self.attrs.items():
            if name not in full:
                if definition.required:
                    raise InvalidArgumentError(f"{self.name}: attribute {name!r} is required")
                full[name] = definition.default
        for name, allowed in self.type_sets.items():
            if name not in full and allowed.default is not None:
                full[name] = allowed.default
        return full

    def input_count(self, arg: ArgDef, attrs: Attrs) -> int:
        """The number of tensors of an argument with `attrs`."""
        if arg.number_attr:
            return int(attrs[arg.number_attr])
        return len(attrs[arg.list_attr]) if arg.list_attr else 1

    def pack_inputs(self, flat: Sequence[Any], attrs: Attrs) -> tuple[Any, ...]:
        """Flat inputs, one entry per argument of the signature."""
        packed: list[Any] = []
        position = 0
        for arg in self.inputs:
            if arg.is_list:
                count = self.input_count(arg, attrs)
                packed.append(tuple(flat[position : position + count]))
                position += count
            else:
                packed.append(flat[position])
                position += 1
        return tuple(packed)

    def output_dtypes(self, attrs: Attrs) -> tuple[DType, ...]:
        """The dtypes of all outputs, flat."""
        found: list[DType] = []
        for arg in self.outputs:
            if arg.list_attr:
                found.extend(attrs[arg.list_attr])
                continue
            dtype = arg.dtype or attrs.get(arg.type_attr) or self.default(arg.type_attr)
            found.extend([dtype] * (int(attrs[arg.number_attr]) if arg.number_attr else 1))
        return tuple(found)

    def __repr__(self) -> str:
        return f"<OpDef {self.name}({self.signature})>"


def _kernel_parameters(kernel: Kernel | None) -> tuple[tuple[str, ...], bool]:
    """The attributes that a kernel takes, and whether it takes the run context."""
    if kernel is None or isinstance(kernel, np.ufunc):
        return (), False
    code = None if hasattr(kernel, "__wrapped__") else getattr(kernel, "__code__", None)
    if code is not None:  # `inspect` says the same in twenty times the time
        names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    else:
        names = _keyword_only(kernel)
    return tuple(name for name in names if name not in {"ctx", "out"}), "ctx" in names


def _keyword_only(kernel: Kernel) -> tuple[str, ...]:
    import inspect

    parameters = inspect.signature(kernel).parameters.items()
    return tuple(name for name, one in parameters if one.kind is one.KEYWORD_ONLY)
