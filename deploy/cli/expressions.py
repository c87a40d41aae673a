"""Arrays as expressions of numbers, lists and a few NumPy functions, evaluated safely.

`np.ones((2, 3))`, `[[1, 2], [3, 4]]`, `np.arange(6).reshape(2, 3) / 5`, `random((8,), "float32")`
"""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pinnace.framework.tensor import Array

_MOST_LETTERS = 1_000_000
_MOST_BYTES = 1 << 30
_MOST_BITS = 4096  # the limit of Python integers, which could otherwise grow without bound
_DTYPES = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}
_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: Mapping[type, Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def evaluate(text: str, seed: int = 0) -> Any:
    """Evaluate an expression.

    Args:
        text: literals, + - * / // % **, and these functions, with or without `np.`: zeros, ones,
            full, eye, arange, linspace, array, and random, random.rand, random.randn,
            random.randint, random.normal, random.uniform; methods reshape and astype of arrays.
        seed: the seed of random numbers.

    Raises:
        InvalidArgumentError: the text is not such an expression, or takes more than 1 GiB.
    """
    if len(text) > _MOST_LETTERS:
        raise InvalidArgumentError(
            f"an expression may have {_MOST_LETTERS:,} characters, this one has {len(text):,}\n"
            "  Try: put the values into a file.npy"
        )
    try:
        tree = ast.parse(text.strip(), mode="eval")
        return _Evaluator(text, seed).value(tree.body)
    except SyntaxError as error:
        raise InvalidArgumentError(f"{_short(text)} is not an expression: {error.msg}") from None
    except InvalidArgumentError:
        raise
    except (RecursionError, MemoryError):
        raise InvalidArgumentError(f"{_short(text)} is nested too deeply") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{_short(text)}: {error}") from None


class _Evaluator:
    def __init__(self, text: str, seed: int) -> None:
        self._text = text
        self._random = np.random.default_rng(seed)

    def value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.value(item) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            return _UNARY[type(node.op)](self._number(self.value(node.operand), node))
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return self._binary(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        name = _dotted(node)
        if name in _DTYPES:
            return name
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        raise self._refuse(node)

    def _refuse(self, node: ast.AST) -> InvalidArgumentError:
        part = ast.get_source_segment(self._text.strip(), node) or self._text
        return InvalidArgumentError(
            f"{_short(part)} is not allowed in an expression\n"
            f"  Try: numbers, lists, and {', '.join(sorted(_FUNCTIONS))}; reshape and astype"
        )

    def _number(self, value: Any, node: ast.AST) -> Any:
        if isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)):
            return value
        raise self._refuse(node)

    def _binary(self, node: ast.BinOp) -> Any:
        left = self._number(self.value(node.left), node.left)
        right = self._number(self.value(node.right), node.right)
        if isinstance(left, int) and isinstance(right, int):
            power = isinstance(node.op, ast.Pow)
            bits = left.bit_length() * (abs(right) if power else 1) + right.bit_length()
            if bits > _MOST_BITS:
                raise self._refuse(node)
        else:
            shape = np.broadcast_shapes(np.shape(left), np.shape(right))
            _check_size(shape, 16)
        with np.errstate(all="ignore"):
            return _BINARY[type(node.op)](left, right)

    def _call(self, node: ast.Call) -> Any:
        args = [self.value(arg) for arg in node.args]
        if any(word.arg is None for word in node.keywords):
            raise self._refuse(node)
        words = {str(word.arg): self.value(word.value) for word in node.keywords}
        name = _dotted(node.func)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](self._random, *args, **words)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            return _METHODS[node.func.attr](np.asarray(self.value(node.func.value)), *args, **words)
        raise self._refuse(node)


def _dotted(node: ast.AST) -> str:
    """`np.random.rand` as `random.rand`; "" for expressions other than names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    if parts[-1] in ("np", "numpy", "tf") and len(parts) > 1:
        parts.pop()
    return ".".join(reversed(parts))


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _check_size(shape: tuple[int, ...], itemsize: int) -> None:
    size = math.prod(shape) * itemsize
    if size > _MOST_BYTES:
        raise InvalidArgumentError(
            f"an array of shape {list(shape)} would take {size:,} bytes; expressions may take "
            f"{_MOST_BYTES:,}\n  Try: put it into a file.npy"
        )


def _shape(value: Any) -> tuple[int, ...]:
    sizes = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not all(isinstance(size, int) and size >= 0 for size in sizes):
        raise InvalidArgumentError(f"a shape must be integers of 0 or more, got {value!r}")
    _check_size(sizes, 16)
    return sizes


def _dtype(value: Any) -> np.dtype[Any]:
    if value not in _DTYPES:
        raise InvalidArgumentError(f"a dtype must be one of {', '.join(_DTYPES)}; got {value!r}")
    found: np.dtype[Any] = np.dtype(value)
    return found


Random = np.random.Generator


def _zeros(_: Random, shape: Any, dtype: Any = "float64") -> Array:
    return np.zeros(_shape(shape), _dtype(dtype))


def _ones(_: Random, shape: Any, dtype: Any = "float64") -> Array:
    return np.ones(_shape(shape), _dtype(dtype))


def _full(_: Random, shape: Any, fill_value: Any, dtype: Any = None) -> Array:
    return np.full(_shape(shape), fill_value, None if dtype is None else _dtype(dtype))


def _eye(_: Random, n: int, m: int | None = None, dtype: Any = "float64") -> Array:
    rows, columns = _shape((n, n if m is None else m))
    return np.eye(rows, columns, dtype=_dtype(dtype))


def _arange(_: Random, start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Array:
    if stop is None:
        start, stop = 0, start
    count = (stop - start) / step
    _shape(max(0, math.ceil(count)))
    found: Array = np.arange(start, stop, step, dtype=None if dtype is None else _dtype(dtype))
    return found


def _linspace(_: Random, start: Any, stop: Any, num: int = 50) -> Array:
    return np.linspace(start, stop, _shape(num)[0])


def _array(_: Random, values: Any, dtype: Any = None) -> Array:
    return np.array(values, None if dtype is None else _dtype(dtype))


def _uniform_shape(random: Random, shape: Any = (), dtype: Any = "float64") -> Array:
    return np.asarray(random.random(_shape(shape))).astype(_dtype(dtype))


def _rand(random: Random, *sizes: int) -> Array:
    return np.asarray(random.random(_shape(sizes)))


def _randn(random: Random, *sizes: int) -> Array:
    return np.asarray(random.standard_normal(_shape(sizes)))


def _randint(random: Random, low: int, high: int | None = None, size: Any = ()) -> Array:
    if high is None:
        low, high = 0, low
    return np.asarray(random.integers(low, high, _shape(size)))


def _normal(random: Random, loc: float = 0.0, scale: float = 1.0, size: Any = ()) -> Array:
    return np.asarray(random.normal(loc, scale, _shape(size)))


def _uniform(random: Random, low: float = 0.0, high: float = 1.0, size: Any = ()) -> Array:
    return np.asarray(random.uniform(low, high, _shape(size)))


def _reshape(array: Array, *sizes: Any) -> Array:
    shape = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    if not all(isinstance(size, int) for size in shape):
        raise InvalidArgumentError(f"a shape must be integers, got {shape!r}")
    return array.reshape(tuple(shape))


def _astype(array: Array, dtype: Any) -> Array:
    return array.astype(_dtype(dtype))


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "zeros": _zeros,
    "ones": _ones,
    "full": _full,
    "eye": _eye,
    "arange": _arange,
    "linspace": _linspace,
    "array": _array,
    "random": _uniform_shape,
    "random.random": _uniform_shape,
    "random.rand": _rand,
    "random.randn": _randn,
    "random.randint": _randint,
    "random.normal": _normal,
    "random.uniform": _uniform,
}
_METHODS: Mapping[str, Callable[..., Any]] = {"reshape": _reshape, "astype": _astype}
