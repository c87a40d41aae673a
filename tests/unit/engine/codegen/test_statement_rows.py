"""The table of a kernel's statements against Python, which runs the same source."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from pinnace.engine.codegen.array_steps import UnsupportedError
from pinnace.engine.codegen.function_numbers import BINARY as OF_TWO
from pinnace.engine.codegen.function_numbers import UNARY as OF_ONE
from pinnace.engine.codegen.function_numbers import WHOLE, WHOLE_DTYPES
from pinnace.engine.codegen.statement_rows import walk_of as table_of
from pinnace.engine.codegen.walks import Argument, Function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pinnace.engine.codegen.walks import Walk

Q = Argument("q", "int64", 1)
F = Argument("f", "float64", 1)
WIDE = 1 << 63


def numbers(dtype: Any, address: int, count: int) -> Any:
    buffer = (ctypes.c_byte * (count * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(buffer, dtype)


class View:
    """Numbers that an elementwise loop reads or writes, in the form of `nests`."""

    def __init__(self, dtype: str, kind: str, address: int, row: int = 0) -> None:
        self.dtype, self.kind, self.address, self.row = dtype, kind, address, row

    def _at(self, place: tuple[int, int]) -> Any:
        across = np.dtype(self.dtype).itemsize * place[1] if self.kind in {"full", "row"} else 0
        return numbers(self.dtype, self.address + self.row * place[0] + across, 1)

    def __getitem__(self, place: tuple[int, int]) -> Any:
        return self._at(place)[0]

    def __setitem__(self, place: tuple[int, int], number: Any) -> None:
        self._at(place)[0] = number


def copy_rows(source: int, step: int, target: int, to: int, rows: int, width: int) -> None:
    for r in range(rows):
        numbers("f4", target + 4 * r * to, width)[:] = numbers("f4", source + 4 * r * step, width)


def add_rows(source: int, step: int, target: int, to: int, rows: int, width: int) -> None:
    for r in range(rows):
        numbers("f4", target + 4 * r * to, width)[:] += numbers("f4", source + 4 * r * step, width)


def sum_rows(source: int, step: int, target: int, rows: int, width: int) -> None:
    total = sum(numbers("f4", source + 4 * r * step, width).astype("f8") for r in range(rows))
    numbers("f4", target, width)[:] = total


def copy_truths(source: int, target: int, count: int) -> None:
    numbers("u1", target, count)[:] = numbers("u1", source, count)


def multiply(*given: Any) -> None:
    a, a_row, a_step, b, b_row, _, c, c_row, m, k, n, _, mode = given
    for i in range(m):
        left = np.array([numbers("f4", a + 4 * (i * a_row + j * a_step), 1)[0] for j in range(k)])
        rows = np.array([numbers("f4", b + 4 * j * b_row, n) for j in range(k)], "f8")
        row = numbers("f4", c + 4 * i * c_row, n)
        row[:] = (row.astype("f8") if mode else 0) + left.astype("f8") @ rows


def in_float64(function: Callable[[float], float]) -> Callable[[Any], Any]:
    return lambda x: np.float32(function(float(x)))


NAMES: dict[str, Any] = {
    "np": np,
    "int64": int,
    "T": np.float32,
    "sqrt": np.sqrt,
    "exp": in_float64(math.exp),
    "tanh": in_float64(math.tanh),
    "sigmoid": in_float64(lambda x: 1 / (1 + math.exp(-x))),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "at": lambda array: array.ctypes.data,
    "floats": lambda address, count: numbers("f4", address, count),
    "truths": lambda address, count: numbers("u1", address, count),
    "ints": lambda address, count: numbers("i4", address, count),
    "longs": lambda address, count: numbers("i8", address, count),
    "elementwise": lambda rows, columns: itertools.product(range(*rows), range(*columns)),
    "numbers": functools.partial(View, "f4"),
    "flags": functools.partial(View, "u1"),
    "ACROSS": 64,
    **{one.__name__: one for one in (copy_rows, add_rows, sum_rows, copy_truths, multiply)},
}


def walk_of(
    lines: Sequence[str],
    arguments: Sequence[Argument],
    sizes: Sequence[int] = (),
    **functions: Function,
) -> Walk:
    """The table of statements; `n[0]` is the first of some sizes."""
    named = [re.sub(r"n\[(\d)\]", lambda found: str(sizes[int(found[1])]), one) for one in lines]
    return table_of(Function(arguments, named), functions)


def by_python(
    lines: Sequence[str], arguments: Sequence[Argument], sizes: Sequence[int], *given: Any
) -> Any:
    names = ", ".join(one.name for one in arguments)
    text = f"def kernel({names}):\n" + "".join(f"    {line}\n" for line in lines)
    own = {**NAMES, "n": list(sizes)}
    with np.errstate(all="ignore"):
        exec(text, own)
        return own["kernel"](*given)


# Numbers.

BINARY = ("+", "-", "*", "&", "|", "^")
COMPARED = ("<", "<=", ">", ">=", "==", "!=")


def wrapped(text: str) -> str:
    """An integer wrapped to int64, since Python's have any size."""
    return f"(({text}) + {WIDE}) % {2 * WIDE} - {WIDE}"


@st.composite
def integers(draw: Any, depth: int = 3) -> tuple[str, str]:
    """An expression, and the same with wrapping integers."""
    leaves = [("a", "a"), ("b", "b"), ("n[0]", "7"), ("n[1]", "-3"), ("int64(5)", "5")]
    kinds = ["leaf", "binary", "signed", "unsigned", "choice", "abs", "max", "negative", "divided"]
    kind = "leaf" if depth == 0 else draw(st.sampled_from(kinds))
    if kind == "leaf":
        return draw(st.sampled_from(leaves))
    x, x_same = draw(integers(depth=depth - 1))
    y, y_same = draw(integers(depth=depth - 1))
    if kind == "binary":
        op = draw(st.sampled_from(BINARY))
        return f"({x} {op} {y})", f"({wrapped(f'({x_same}) {op} ({y_same})')})"
    if kind == "divided":
        op, by = draw(st.sampled_from(["//", "%"])), draw(st.sampled_from([-7, 3, 10]))
        return f"({x} {op} {by})", f"({wrapped(f'({x_same}) {op} {by}')})"
    if kind in {"signed", "unsigned"}:
        bits = draw(st.sampled_from([8, 16, 32]))
        name = f"np.{'int' if kind == 'signed' else 'uint'}{bits}"
        low = 1 << (bits - 1) if kind == "signed" else 0
        return f"{name}({x})", f"((({x_same}) + {low}) % {1 << bits} - {low})"
    if kind == "choice":
        op = draw(st.sampled_from(COMPARED))
        joined = draw(st.sampled_from(["and", "or"]))
        test = f"{{0}} {op} {{1}} {joined} not {{1}} < 3"
        return (
            f"({x} if {test.format(x, y)} else {y})",
            f"(({x_same}) if {test.format(f'({x_same})', f'({y_same})')} else ({y_same}))",
        )
    if kind == "max":
        name = draw(st.sampled_from(["min", "max"]))
        return f"{name}({x}, {y})", f"{name}({x_same}, {y_same})"
    if kind == "abs":
        return f"abs({x})", f"max({x_same}, {wrapped(f'-({x_same})')})"
    return f"(-{x})", f"({wrapped(f'-({x_same})')})"


NUMBERS = st.one_of(
    st.integers(-9, 9), st.sampled_from([WIDE - 1, -WIDE, 1 << 31, -(1 << 31) - 1, 255, 128])
)


@settings(max_examples=300, deadline=None)
@given(integers(), NUMBERS, NUMBERS)
def test_integers_wrap_as_the_processors_do(expression: tuple[str, str], a: int, b: int) -> None:
    text, same = expression
    lines = ["a = q[0]", "b = q[1]", f"q[2] = {text}", "return 0"]
    q = np.array([a, b, 0], np.int64)
    walk = walk_of(lines, [Q], [7, -3])
    wanted = eval(same, {"a": a, "b": b})
    assert walk(q) == 0
    assert int(q[2]) == (wanted + WIDE) % (2 * WIDE) - WIDE


@st.composite
def reals(draw: Any, depth: int = 3) -> str:
    leaves = ["a", "b", "x", "y", "T(0.1)", "np.float64(0.1)", "T(-0.0)", "T(np.inf)"]
    kinds = ["leaf", "binary", "rounded", "widened", "choice", "root", "abs", "negative"]
    kind = "leaf" if depth == 0 else draw(st.sampled_from(kinds))
    if kind == "leaf":
        return draw(st.sampled_from(leaves))
    one, other = draw(reals(depth=depth - 1)), draw(reals(depth=depth - 1))
    if kind == "binary":
        return f"({one} {draw(st.sampled_from(['+', '-', '*', '/']))} {other})"
    if kind == "choice":
        op = draw(st.sampled_from(COMPARED))
        return f"(T({one}) if {one} {op} {other} else T({other}))"
    calls = {"rounded": "T({})", "widened": "np.float64({})", "root": "sqrt({})"}
    calls |= {"abs": "abs({})", "negative": "(-{})"}
    return calls[kind].format(one)


@settings(max_examples=300, deadline=None)
@given(reals(), st.lists(st.floats(width=32), min_size=4, max_size=4))
def test_fractions_round_as_in_numpy(text: str, given: list[float]) -> None:
    lines = ["a = np.float64(f[0])", "b = np.float64(f[1])", "x = T(f[2])", "y = T(f[3])"]
    lines += [f"f[4] = {text}", "return 0"]
    found, wanted = np.array([*given, 0]), np.array([*given, 0])
    by_python(lines, [F], [], wanted)
    walk = walk_of(lines, [F], [])
    assert walk(found) == 0
    # Zeros of both signs are equal, and NaN equals NaN.
    np.testing.assert_array_equal(found, wanted)
    if not np.isnan(wanted[4]):
        assert np.signbit(found[4]) == np.signbit(wanted[4])


# Flow.

LOOPS = {
    "a swap": ["i, j = q[0], q[1]", "k = 0", "while k < n[0]:", "    i, j = j, i + j",
               "    k += 1", "q[2] = i", "return j"],
    "a break": ["i = q[0]", "k = 0", "while k < 1000:", "    if i > n[1]:", "        q[2] = k",
                "        break", "    i = i * 3 + 1", "    k += 1", "return k"],
    "two ways": ["i = q[0]", "k = 0", "s = 0", "while k < 10:", "    if k & 1 and not k == 3:",
                 "        s += i * 2", "    else:", "        s -= i * 2", "    i += 1",
                 "    s += i * 2", "    k += 1", "return s"],
    "a former number": ["i = q[0]", "k = 0", "while k < 5:", "    old = i", "    i = i + n[1]",
                        "    q[2] = old", "    k += 1", "return q[2] + i"],
    "from the end": ["k = 0", "while k < 3:", "    q[-1] = q[-1] + q[k]", "    k += 1",
                     "return q[-1]"],
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("begin", [[1, 2, 3], [-5, 100, 0], [1000, -1, 7]])
def test_a_loop(name: str, begin: list[int]) -> None:
    found, wanted = np.array(begin, np.int64), np.array(begin, np.int64)
    result = by_python(LOOPS[name], [Q], [6, 50], wanted)
    walk = walk_of(LOOPS[name], [Q], [6, 50])
    assert walk(found) == result
    np.testing.assert_array_equal(found, wanted)
    again = np.array(begin, np.int64)
    assert walk(again) == result  # no state of a call affects the next one
    np.testing.assert_array_equal(again, wanted)


def test_loops_over_integers_in_memory() -> None:
    lines = [
        "v = ints(at(x0), n[0])",
        "z = longs(at(x1), n[0])",
        "for i in range(n[0]):",
        "    below = 0",
        "    for j in range(1, n[1]):",
        "        below += 0 if v[i] < x2[j] else 1",
        "    z[i] = below",
        "    if v[i] == 7:",
        "        q[0] = i",
        "        break",
        "    row = int64(v[i])",
        "    copy_rows(at(x3) + 4 * row * n[2], n[2], at(x4) + 4 * i * n[2], n[2], 1, n[2])",
        "return 0",
    ]
    arguments = [Q, Argument("x0", "int32", 1), Argument("x1", "int64", 1)]
    arguments += [Argument("x2", "float32", 1)]
    arguments += [Argument(name, "float32", 2) for name in ("x3", "x4")]
    random = np.random.default_rng(5)
    for last in (3, 7):
        given = [
            np.full(1, -1, np.int64),
            np.array([*random.integers(0, 6, 8), last, 2], np.int32),
            np.full(10, -1, np.int64),
            np.arange(6, dtype=np.float32),
            random.normal(size=(6, 5)).astype(np.float32),
            np.zeros((10, 5), np.float32),
        ]
        wanted = [one.copy() for one in given]
        assert by_python(lines, arguments, [10, 6, 5], *wanted) == 0
        assert walk_of(lines, arguments, [10, 6, 5])(*given) == 0
        for found, other in zip(given, wanted, strict=True):
            np.testing.assert_array_equal(found, other)


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("width", [1, 3, 16, 33, 200])
def test_functions_of_rows(rows: int, width: int) -> None:
    random = np.random.default_rng(rows * width)
    x = (random.normal(size=(rows, width + 2)) * 3).astype(np.float32)
    given = x[:, :width].astype(np.float64)
    step, some = width + 2, f"{rows}, {width}"
    lines = [
        f"row_totals(at(x), {step}, at(a), {some}, 4)",
        f"row_largest(at(x), {step}, at(b), {some})",
        f"row_softmax(at(x), {step}, at(c), {some})",
        f"row_places(at(x), {step}, at(d), {some}, 4)",
        f"row_places(at(x), {step}, at(e), {some}, 8)",
        f"fill(at(g), {rows}, 2.5)",
        "return 0",
    ]
    kinds = {"x": "float32", "a": "float32", "b": "float32", "c": "float32", "d": "int32"}
    kinds |= {"e": "int64", "g": "float32"}
    made = {
        name: np.zeros(rows * (width if name == "c" else 1), kind) for name, kind in kinds.items()
    }
    made["x"] = x
    arguments = [Argument(name, kind, made[name].ndim) for name, kind in kinds.items()]
    walk = walk_of(lines, arguments, [])
    assert walk(*made.values()) == 0
    np.testing.assert_allclose(made["a"], given.sum(-1) / 4, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(made["b"], given.max(-1))
    power = np.exp(given - given.max(-1, keepdims=True))
    softmax = power / power.sum(-1, keepdims=True)
    np.testing.assert_allclose(made["c"].reshape(rows, width), softmax, rtol=1e-5, atol=1e-7)
    for name in ("d", "e"):
        np.testing.assert_array_equal(made[name], given.argmax(-1))
    assert (made["g"] == 2.5).all()
    x[0, width // 2] = np.nan
    assert walk(*made.values()) == 0
    assert np.isnan(made["b"][0])
    assert made["d"][0] == width // 2


@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_functions_of_the_system(name: str) -> None:
    x = np.array([-3, -1, -0.75, -0.0, 0, 0.5, 1, 2.5, 3, np.inf, -np.inf, np.nan], np.float32)
    y = np.array([2, -0.5, 3, 1, 0, 0.5, -2, 2, 0, 1, 2, 1], np.float32)
    found = np.zeros((2, len(x)), np.float32)
    own = {"acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2"}
    own |= {"acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh", "pow": "power"}
    with np.errstate(all="ignore"):
        function = getattr(special if name.startswith("erf") else np, own.get(name, name))
        if name in OF_ONE:
            lines = [f"apply({OF_ONE.index(name)}, at(x), at(z), {len(x)})", "return 0"]
            wanted = [function(x.astype("f8")), np.zeros(len(x))]
        else:
            call = f"apply_two({OF_TWO.index(name)}, at(x), at(y)"
            lines = [f"{call}, 1, at(z), {len(x)})"]
            lines += [f"{call}, 0, at(z) + {4 * len(x)}, {len(x)})", "return 0"]
            wanted = [function(x.astype("f8"), one.astype("f8")) for one in (y, y[:1])]
    arguments = [Argument(one, "float32", 1) for one in "xy"] + [Argument("z", "float32", 2)]
    assert walk_of(lines, arguments, [])(x, y, found) == 0
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


KINDS_OF_WHOLE = {"bool": "?", "int32": "i4", "int64": "i8", "float32": "f4"}
OF_WHOLE: dict[str, Any] = {
    "move": lambda x, _: x, "add": np.add, "subtract": np.subtract, "multiply": np.multiply,
    "minimum": np.minimum, "maximum": np.maximum, "floor_divide": np.floor_divide,
    "floor_modulo": np.mod, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "and": np.logical_and, "or": np.logical_or,
    "not": lambda x, _: np.logical_not(x),
}  # fmt: skip
COMPARISONS = ("equal", "not_equal", "less", "less_equal")


def edges(draw: Any, kind: str, shape: tuple[int, ...]) -> Any:
    """Numbers of a dtype, many at the ends of its range."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    if kind == "bool":
        return random.integers(0, 2, shape) > 0
    if kind == "float32":
        ends = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e-45, 2.0]
        return random.choice(np.array(ends, "f4"), shape)
    facts = np.iinfo(kind)
    ends = [facts.min, facts.max, facts.min + 1, 0, 1, -1, 2, 7, -7, 1 << 30, (1 << 24) + 1]
    return random.choice(np.array(ends, kind), shape)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_steps_on_integers_booleans_and_comparisons(data: Any) -> None:
    draw = data.draw
    kind = draw(st.sampled_from(sorted(KINDS_OF_WHOLE)))
    names = {"float32": COMPARISONS, "bool": (*COMPARISONS[:2], "and", "or", "not", "move")}
    name = draw(st.sampled_from(names.get(kind, WHOLE)))
    rows, width = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    shapes = {
        "full": ((rows, width), width, 1), "row": ((1, width), 0, 1),
        "column": ((rows, 1), 1, 0), "scalar": ((1, 1), 0, 0),
    }  # fmt: skip
    (a_shape, *a_steps), (b_shape, *b_steps) = (
        shapes[draw(st.sampled_from(sorted(shapes)))] for _ in range(2)
    )
    a, b = edges(draw, kind, a_shape), edges(draw, kind, b_shape)
    if name in {"floor_divide", "floor_modulo"}:
        b = np.full_like(b, draw(st.sampled_from([1, 2, 3, 7, -2, -7])))
    if name in {*COMPARISONS, "and", "or", "not"}:
        made = "bool"
    else:
        made = draw(st.sampled_from(sorted(KINDS_OF_WHOLE))) if name == "move" else kind
    with np.errstate(all="ignore"):
        wanted = np.broadcast_to(OF_WHOLE[name](a, b), (rows, width)).astype(made)
    found = np.zeros((rows, width), made)
    code = [WHOLE_DTYPES.index(one) for one in (kind, kind, made)]
    line = (
        f"apply_whole({WHOLE.index(name)}, {rows}, {width}, at(a), {code[0]}, {a_steps[0]}, "
        f"{a_steps[1]}, at(b), {code[1]}, {b_steps[0]}, {b_steps[1]}, at(z), {code[2]})"
    )
    arguments = [Argument("a", kind, 2), Argument("b", kind, 2), Argument("z", made, 2)]
    assert walk_of([line, "return 0"], arguments, [])(a, b, found) == 0
    np.testing.assert_array_equal(found, wanted)


# Functions.

INNER = Function(
    [Argument("most"), Argument("q", "int64", 1), Argument("x", "float32", 1)],
    [
        "fill(w, 17, k0[1])",
        "i0 = int64(q[0])",
        "iterations = 0",
        "while iterations < most:",
        "    if i0 > 100:",
        "        q[-1] = 1",
        "        break",
        "    i0 = i0 * 3 + iterations",
        "    x[1] = x[0] + floats(w, 1)[0]",
        "    iterations += 1",
        "q[0] = i0",
        "return iterations",
    ],
    40,
    [np.array([1.5, 2.5], np.float32)],
)


@pytest.mark.parametrize("most", [0, 1, 3, 4, 9])
def test_functions_stand_where_they_are_called(most: int) -> None:
    lines = [
        "i0 = a + 1",  # the function uses the same name
        "q1 = np.zeros(2, np.int64)",
        "q1[0] = n[0]",
        "first = inner(a, q1, floats(at(x), 2))",
        "second = inner(a + 0, q1, floats(at(x), 2))",
        "q[0] = first",
        "q[1] = second",
        "q[2] = q1[0]",
        "q[3] = q1[-1]",
        "q[4] = i0",
        "return second",
    ]
    values, refused, counts = 5, 0, []
    for _ in range(2):
        iterations = 0
        while iterations < most:
            if values > 100:
                refused = 1
                break
            values, iterations = values * 3 + iterations, iterations + 1
        counts.append(iterations)
    found, x = np.zeros(5, np.int64), np.array([1.5, 0], np.float32)
    arguments = [Argument("a"), Q, Argument("x", "float32", 1)]
    walk = walk_of(lines, arguments, [5], inner=INNER)
    for _ in range(2):
        x[1] = 0
        assert walk(most, found, x) == counts[1]
        np.testing.assert_array_equal(found, [*counts, values, refused, most + 1])
        assert x[1] == (4.0 if most else 0.0)


def test_a_function_that_returns_in_several_places_is_refused() -> None:
    lines = ["if most > 3:", "    return 1", "return 2"]
    inner = Function([Argument("most")], lines)
    with pytest.raises(UnsupportedError, match="several places"):
        walk_of(["a = inner(2)", "return a"], [], [], inner=inner)


def test_threads_call_one_table() -> None:
    lines = ["i = 0", "while i < n[0]:", "    q[0] = q[0] + a", "    i += 1", "return q[0]"]
    walk = walk_of(lines, [Argument("a"), Q], [200])
    wrong: list[int] = []

    def work(number: int) -> None:
        found = [walk(number, np.zeros(1, np.int64)) for _ in range(500)]
        wrong.extend(number for one in found if one != 200 * number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


# Elementwise loops.

FORMS = (
    "{0} + {1}", "{0} * {1} - {2}", "-{0}", "tanh({0})", "sigmoid({0})", "exp(minimum({0}, T(3)))",
    "({0} if {1} > T(0) else {2})", "maximum({0}, {1})", "T(1) - {0} * {0}", "abs({0}) / T(2.5)",
    "({0} if {3} else {1})", "sqrt(abs({0}))",
)  # fmt: skip
KINDS = ("full", "row", "column", "scalar")


class Kernel:
    """A random kernel: a few elementwise loops, copies and sums, inside a loop over steps."""

    def __init__(self, draw: Any) -> None:
        self.rows, self.width = draw(st.integers(1, 9)), draw(st.integers(1, 70))
        self.parts = draw(st.booleans())
        self.lines: list[str] = []
        self.arguments = [Argument("most"), Argument("first"), Argument("end")]
        self.given: list[Any] = []
        self.sizes = [self.rows, self.width]
        self.random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
        self.outputs: list[str] = []
        body: list[str] = []
        for _ in range(draw(st.integers(1, 4))):
            body += self._nest(draw)
        self.lines += ["iterations = 0", "while iterations < most:"]
        self.lines += [f"    {line}" for line in body]
        self.lines += ["    iterations += 1", "return iterations"]

    def _array(self, shape: tuple[int, ...], dtype: str = "float32") -> str:
        name = f"x{len(self.given)}"
        value = self.random.normal(size=shape) * 2
        array = value > 0 if dtype == "bool" else value.astype(dtype)
        if len(shape) == 3 and dtype == "float32" and self.random.random() < 0.5:
            whole = np.zeros((*shape[:2], shape[2] + 3), np.float32)  # rows with a stride
            whole[..., : shape[2]] = array
            array = whole[..., : shape[2]]
        self.given.append(array)
        self.arguments.append(Argument(name, dtype, len(shape)))
        return name

    def _operand(self, draw: Any, name: str, kind: str, dtype: str) -> str:
        """The line that reads a number."""
        view, size = ("flags", 1) if dtype == "bool" else ("numbers", 4)
        shapes = {"row": (self.width,), "column": (self.rows,), "scalar": (3,)}
        if kind == "full":
            steps = draw(st.integers(1, 3))
            of = self._array((steps, self.rows, self.width), dtype)
            step = f", {of}.strides[1]"
            address = f"(at({of}) + {of}.strides[0] * (iterations % {steps}))"
        else:
            of = self._array(shapes[kind], dtype)
            step = f", {size}" if kind == "column" else ""
            address = f"(at({of}) + {size} * (iterations % 3))" if kind == "scalar" else f"at({of})"
        return f'{name} = {view}("{kind}", {address}{step})[r, c]'

    def _nest(self, draw: Any) -> list[str]:
        names = ["a1", "a2", "a3"]
        inner = [
            self._operand(draw, name, draw(st.sampled_from(KINDS)), "float32") for name in names
        ]
        inner.append(self._operand(draw, "a4", draw(st.sampled_from(KINDS)), "bool"))
        inner.append("a5 = T(iterations)")  # in a register
        names.append("a5")
        for number in range(draw(st.integers(1, 5))):
            form = draw(st.sampled_from(FORMS))
            chosen = [draw(st.sampled_from(names)) for _ in range(3)]
            inner.append(f"t{number} = T({form.format(*chosen, 'a4')})")
            names.append(f"t{number}")
        for _ in range(draw(st.integers(1, 2))):
            of = self._array((self.rows, self.width))
            self.outputs.append(of)
            made = draw(st.sampled_from(names[4:]))
            inner.append(f'numbers("full", at({of}), 4 * n[1])[r, c] = {made}')
        rows = "first * 1, end * 1" if self.parts else "0, n[0]"
        lines = [f"for r, c in elementwise(({rows}), (0, n[1])):", *(f"    {one}" for one in inner)]
        source, target = self.outputs[-1], self._array((self.rows, self.width))
        call = draw(st.sampled_from(["copy_rows", "add_rows"]))
        lines.append(f"{call}(at({source}), n[1], at({target}), n[1], n[0], n[1])")
        self.outputs.append(target)
        total = self._array((self.width,))
        lines.append(f"sum_rows(at({source}), n[1], at({total}), n[0], n[1])")
        self.outputs.append(total)
        return lines


@settings(max_examples=120, deadline=None)
@given(st.data(), st.integers(1, 4))
def test_elementwise_loops(data: Any, most: int) -> None:
    drawn = Kernel(data.draw)
    walk = walk_of(drawn.lines, drawn.arguments, drawn.sizes)
    begin = data.draw(st.integers(0, drawn.rows - 1)) if drawn.parts else 0
    numbers = most, begin, drawn.rows
    wanted = [one.copy() if one.flags.c_contiguous else one for one in drawn.given]
    assert by_python(drawn.lines, drawn.arguments, drawn.sizes, *numbers, *wanted) == most
    assert walk(*numbers, *drawn.given) == most
    for argument, found, other in zip(drawn.arguments[3:], drawn.given, wanted, strict=True):
        np.testing.assert_allclose(
            found, other, rtol=2e-5, atol=2e-5, err_msg=f"{argument.name} in {drawn.lines}"
        )


# Statements without a row.


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["return log(q[0])"], "there is no row for log"),
        (["x = q[0] / 0", "q[0] = x", "return 0"], "a float is stored in an integer array"),
        (["return z"], "argument z has no value"),
        (["for i, j in range(2):", "    q[0] = 3", "return 0"], "no row for the statement for"),
        (["with q:", "    pass"], "there is no row for the statement with q"),
    ],
)
def test_what_has_no_row_is_said(lines: list[str], said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        walk_of(lines, [Q], [])
