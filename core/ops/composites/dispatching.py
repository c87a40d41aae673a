"""What the functions of tensors do when they are given ragged or sparse ones.

There are two ways in. An elementwise op that is reached with a composite argument is the op on its
values: `execute` comes here for all of them (`on_composites`), so such functions need nothing. A
function that looks at its arguments before it runs an op, or for which rows matter, stands in a
table below: it is replaced, once, by one that looks for composite arguments first.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

from pinnace.framework import dispatch
from pinnace.framework.composite import CompositeTensor
from pinnace.framework.tensor import Tensor
from pinnace.framework.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from pinnace.ops.opdef import OpDef

__all__ = ["install", "on_composites"]

_OPS = "pinnace.ops."
_RAGGED = "pinnace.ops.composites.ragged."
_SPARSE = "pinnace.ops.composites.sparse."

# Functions of one tensor, element by element, that look at it before an op does.
_UNARY = {
    "": "_not",
    "array.casting": "bitcast cast saturate_cast",
    "array.constants": "ones_like zeros_like",
    "control.assertions": "check_numerics",
    "io.raw": "decode_raw",
    "math.arithmetic": "abs reciprocal_no_nan",
    "math.clipping": "clip_by_value",
    "math.complexes": "angle conj imag real",
    "math.rounding": "round",
    "math.error_and_gamma": "erfcinv",
    "nn.dropouts": "dropout",
    "nn.rectifiers": "leaky_relu",
    "nn.smooth": "gelu silu",
    "strings.conversion": "substr to_number",
    "strings.encoding": "decode_base64",
    "strings.hashing": "to_hash_bucket_fast to_hash_bucket_strong",
    "strings.patterns": "regex_full_match regex_replace",
    "strings.pieces": "unicode_transcode",
}
# Functions of two tensors, element by element, likewise.
_BINARY = {
    "": "_and _or _xor",
    "math.division": "truediv",
    "math.complexes": "complex",
    "nn.losses": "sigmoid_cross_entropy_with_logits",
}
# Functions of rows: module -> name -> what takes ragged arguments.
_ROWS = {
    "array.gathering": {
        "gather": "gathering:gather",
        "gather_nd": "gathering:gather_nd",
    },
    "array.indicators": {"one_hot": "gathering:one_hot"},
    "array.joining": {
        "concat": "shaping:concat",
        "split": "shaping:split",
        "stack": "shaping:stack",
    },
    "array.tiling": {"tile": "shaping:tile"},
    "array.permutations": {"reverse": "shaping:reverse"},
    "array.partitioning": {"dynamic_partition": "others:dynamic_partition"},
    "array.reshaping": {"expand_dims": "shaping:expand_dims", "squeeze": "shaping:squeeze"},
    "array.selecting": {"where": "gathering:where", "boolean_mask": "gathering:boolean_mask"},
    "array.shapes": {"rank": "others:rank", "size": "shaping:size"},
    "math.arithmetic": {"add_n": "others:add_n", "scalar_mul": "others:scalar_mul"},
    "math.counting": {"bincount": "others:bincount"},
    "math.cumulation": {"cumsum": "others:cumsum"},
    "math.products": {"matmul": "products:matmul"},
    "math.reduction": {
        name: f"reduction:{name}"
        for name in (
            "reduce_all",
            "reduce_any",
            "reduce_max",
            "reduce_mean",
            "reduce_min",
            "reduce_prod",
            "reduce_std",
            "reduce_sum",
            "reduce_variance",
        )
    },
    "math.segments": {
        f"unsorted_segment_{word}": f"others:unsorted_segment_{word}"
        for word in ("max", "mean", "min", "prod", "sqrt_n", "sum")
    },
    "nn.softmaxes": {"softmax": "others:softmax"},
    "strings.joining": {"join": "others:join", "reduce_join": "others:reduce_join"},
    "control.printing": {"tf_print": "others:tf_print"},
}
# What keeps 0 at 0 and so keeps a sparse tensor sparse: functions, and ops reached without one.
_KEEP_ZERO = frozenset(
    [
        "abs",
        "cast",
        "leaky_relu",
        "round",
        "zeros_like",
        "Abs",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "Ceil",
        "Erf",
        "Expm1",
        "Floor",
        "Identity",
        "Log1p",
        "Neg",
        "Relu",
        "Relu6",
        "Rint",
        "Sign",
        "Sin",
        "Sinh",
        "Sqrt",
        "Square",
        "Tan",
        "Tanh",
    ]
)


def install() -> None:
    """Replace the functions of the tables, wherever they are bound."""
    # A family that is imported later asks for its functions to be replaced.
    dispatch.install(on_composites=on_composites, take_composites=install)
    replaced: dict[int, Any] = {}
    for module, name, handler in _entries():
        original = vars(module).get(name)
        if original is None or hasattr(original, "_takes_composites"):
            continue
        replaced[id(original)] = (original, _taking(original, handler))
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "pinnace" and module is not None:
            _rebind(vars(module), replaced)
    for slot in type(dispatch.operators).__slots__:
        found = replaced.get(id(getattr(dispatch.operators, slot, None)))
        if found is not None:
            setattr(dispatch.operators, slot, found[1])


def _entries() -> list[tuple[ModuleType, str, Any]]:
    found = []
    for table, handler in ((_UNARY, _unary), (_BINARY, _binary)):
        for module, names in table.items():
            home = _module(module)
            if home is not None:
                found += [(home, name, handler) for name in names.split()]
    for module, targets in _ROWS.items():
        home = _module(module)
        if home is not None:
            found += [(home, name, _Rows(name, target)) for name, target in targets.items()]
    return found


def _module(name: str) -> ModuleType | None:
    return sys.modules.get(_OPS + name if name else "pinnace.ops")


def _rebind(names: dict[str, Any], replaced: dict[int, Any]) -> None:
    for name, value in names.items():
        found = replaced.get(id(value))
        if found is not None and found[0] is value:
            names[name] = found[1]


def _taking(original: Callable[..., Any], handler: Any) -> Callable[..., Any]:
    """The function, which looks for composite arguments first."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            if type(x) in _WHOLE:
                continue
            if isinstance(x, CompositeTensor) or (
                type(x) in _LISTS and any(isinstance(y, CompositeTensor) for y in x)
            ):
                return _handed_over(original, handler, args, kwargs)
        for x in kwargs.values():
            if isinstance(x, CompositeTensor) or (
                type(x) in _LISTS and any(isinstance(y, CompositeTensor) for y in x)
            ):
                return _handed_over(original, handler, args, kwargs)
        return original(*args, **kwargs)

    function._takes_composites = True  # type: ignore[attr-defined]
    return function


_LISTS = frozenset({list, tuple})
# The usual arguments, of which one look tells that they are not composite.
_WHOLE = frozenset({Tensor, Variable, float, int, type(None)})


def kind_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Which composite values are among the arguments; ragged before sparse."""
    kinds = set()
    for x in (*args, *kwargs.values()):
        kinds.add(getattr(type(x), "_takes_ops", None))
        if type(x) in _LISTS:
            kinds.update(getattr(type(y), "_takes_ops", None) for y in x)
    return "ragged" if "ragged" in kinds else "sparse" if "sparse" in kinds else None


def _handed_over(
    original: Callable[..., Any], handler: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    kind = kind_of(args, kwargs)
    if kind is None:  # indexed slices: they become tensors by themselves
        return original(*args, **kwargs)
    return handler(original, kind, args, kwargs)


def _unary(
    original: Callable[..., Any], kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The function of the values of the first argument."""
    key = "" if args else next(iter(kwargs))
    x = args[0] if args else kwargs[key]

    def run(values: Any) -> Any:
        if not key:
            return original(values, *args[1:], **kwargs)
        return original(**{**kwargs, key: values})

    if kind == "ragged" and getattr(type(x), "_takes_ops", None) == "ragged":
        from pinnace.ops.composites.ragged.elementwise import elementwise

        return elementwise(run, x)
    if kind == "sparse" and original.__name__ in _KEEP_ZERO:
        return x.with_values(run(x.values))
    return _refuse(original.__name__, kind)


def _binary(
    original: Callable[..., Any], kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The function of the values of both, with equal rows."""
    if kind == "sparse":
        return _sparse_binary(original, args, kwargs)
    from pinnace.ops.composites.ragged.elementwise import elementwise

    named = dict(kwargs)
    operands = list(args[:2])
    keys = [key for key in named if key != "name"][: 2 - len(operands)]
    operands += [named.pop(key) for key in keys]
    rest = args[2:]
    count = len(args[:2])

    def run(*values: Any) -> Any:
        by_name = dict(zip(keys, values[count:], strict=True))
        return original(*values[:count], *rest, **by_name, **named)

    return elementwise(run, *operands)


def _sparse_binary(
    original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    from pinnace.ops.composites.sparse.tensor import SparseTensor

    operands = [*args, *kwargs.values()]
    is_sparse = [isinstance(x, SparseTensor) for x in operands[:2]]
    if original.__name__ in {"truediv", "divide"} and is_sparse == [True, False]:
        return operands[0] / operands[1]
    return _refuse(original.__name__, "sparse")


def _sparse_product(x: Any, y: Any) -> Any:
    from pinnace.ops.composites.sparse.tensor import SparseTensor

    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        return _refuse("multiply of two", "sparse")
    return x * y if isinstance(x, SparseTensor) else y * x


def _without_defaults(
    original: Callable[..., Any],
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The call of `target`: a traced function hands over every parameter, also those not given."""
    parameters = _parameters(original)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return target(*args, **kwargs)
    last = max(
        (i for i, (x, p) in enumerate(zip(args, parameters, strict=False)) if x is not p.default),
        default=-1,
    )
    return target(*args[: last + 1], **kwargs)


@functools.cache
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(function).parameters.values())


class _Rows:
    """A function that has another one for ragged arguments, found when it is needed."""

    def __init__(self, name: str, target: str) -> None:
        self.name = name
        self.target = target

    def __call__(
        self,
        original: Callable[..., Any],
        kind: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        if kind == "sparse":
            return self._sparse(original, args, kwargs)
        module, _, name = self.target.partition(":")
        target = getattr(importlib.import_module(_RAGGED + module), name)
        return _without_defaults(original, target, args, kwargs)

    def _sparse(
        self, original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        from pinnace.ops.composites.sparse import arithmetic
        from pinnace.ops.composites.sparse.tensor import SparseTensor

        is_sparse = [isinstance(x, SparseTensor) for x in args[:2]]
        if self.name == "matmul" and len(args) == 2 and not kwargs and not all(is_sparse):
            return arithmetic.sparse_dense_matmul(*args)
        if self.name == "tf_print":
            return original(*args, **kwargs)
        if self.name == "bincount":
            from pinnace.ops.composites.sparse.counting import bincount_dense

            return bincount_dense(*args, **kwargs)
        return _refuse(self.name, "sparse")


def on_composites(
    op: OpDef, arguments: tuple[Any, ...], name: str | None, attrs: dict[str, Any]
) -> Any:
    """An op that was given composite values.

    Raises:
        ValueError: it is not elementwise, so that the values alone do not tell the result.
    """
    from pinnace.ops.execute import execute

    kind = kind_of(arguments, {})
    if kind == "ragged" and op.elementwise:
        from pinnace.ops.composites.ragged.elementwise import elementwise

        return elementwise(lambda *xs: execute(op, *xs, name=name, **attrs), *arguments)
    if kind == "sparse" and len(arguments) == 1 and op.name in _KEEP_ZERO:
        return arguments[0].with_values(execute(op, arguments[0].values, name=name, **attrs))
    if kind == "sparse" and op.name == "Mul":
        return _sparse_product(*arguments)
    return _refuse(op.name, kind or "composite")


def _refuse(name: str, kind: str) -> Any:
    if kind == "sparse":
        remedy = "sparse.to_dense(x), sparse.map_values(function, x), or a function of `sparse`"
        what = "a SparseTensor"
    else:
        remedy = "x.to_tensor(), or ragged.map_flat_values(function, x)"
        what = "a RaggedTensor"
    raise ValueError(f"{name} does not take {what}\n  Try: {remedy}")


install()
