"""Each instruction of elementwise programs against float64, at any memory position.

Memory ends at a protected page; memory that an instruction does not write is unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import special

from hot.memory import NOT_A_NUMBER, Lender
from pinnace.engine.codegen import block_programs, kernels
from pinnace.engine.codegen.block_programs import MODES, OPERATION, REDUCTIONS, TOTALS
from pinnace.ops.kernels.addresses import address_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ALL = 1 << 62
SIZES = [(1, 1), (1, 8), (3, 15), (2, 16), (5, 17), (4, 33), (2, 64), (3, 127), (1, 1000), (7, 129)]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3.4e38, -3.4e38, 1e-8, 88.9, -104.5]


def larger(a: Any, b: Any) -> Any:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.maximum(a, b))


def smaller(a: Any, b: Any) -> Any:
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.minimum(a, b))


# The function in float64, and the permitted error in float32 ulps; one step, two for pairs.
EXACT: dict[str, tuple[Callable[..., Any], int]] = {
    "SAME": (lambda a: a, 0),
    "NEGATIVE": (lambda a: -a, 0),
    "ABSOLUTE": (np.abs, 0),
    "ROOT": (np.sqrt, 1),
    "EXP": (np.exp, 2),
    "EXPM1": (np.expm1, 3),
    "TANH": (np.tanh, 4),
    "SIGMOID": (special.expit, 4),
    "ERF": (special.erf, 8),
    "ERFC": (special.erfc, 16),
    "LOG": (np.log, 2),
    "LOG1P": (np.log1p, 3),
    "ADD": (np.add, 1),
    "SUBTRACT": (np.subtract, 1),
    "MULTIPLY": (np.multiply, 1),
    "DIVIDE": (np.divide, 1),
    "LARGER": (larger, 0),
    "SMALLER": (smaller, 0),
    "GREATER": (lambda a, b: (a > b).astype(np.float64), 0),
    "SELECT": (lambda c, a, b: np.where(c != 0, a, b), 0),
    "GATE": (lambda x, a: np.where(x > 0, a, 0.0), 0),
    "EXP_OF_DIFFERENCE": (lambda a, b: np.exp((a - b).astype(np.float32).astype(np.float64)), 2),
}


def reference(name: str, given: Sequence[Any]) -> tuple[Any, Any]:
    """The result of an instruction, and its permitted error."""
    wide = [np.asarray(one, np.float64) for one in given]
    pairs = {pair: both for both, pair in block_programs.PAIRS.items()}
    if name in pairs:
        first, second = pairs[name]
        inner = EXACT[first][0](*wide[:2])
        exact = wide[2] - inner if second == "REVERSED" else EXACT[second][0](inner, wide[2])
        # The intermediate step may be rounded or not, which affects the result.
        size = np.abs(wide[2]) if second == "MULTIPLY" else 1.0
        return exact, np.spacing(np.abs(inner).astype(np.float32)).astype(np.float64) * size
    return EXACT[name][0](*wide), 0.0


def numbers(random: Any, shape: tuple[int, ...], *, specials: bool) -> Any:
    x = (random.standard_normal(shape) * 10 ** random.uniform(-2, 1.5, shape)).astype(np.float32)
    if specials:
        at = random.random(shape) < 0.2
        x[at] = random.choice(np.array(SPECIAL, np.float32), shape)[at]
    return x


def run(
    what: tuple[str, str],
    to: Any,
    given: Sequence[Any],
    rows: int,
    width: int,
    *,
    by_row: bool = False,
    block: int = 0,
    some: int = 0,
    each: int = ALL,
    to_columns: Sequence[int] | None = None,
) -> None:
    """One instruction over a matrix."""
    _, mode = what
    operands, single = [], 0
    for n, (one, kind) in enumerate(zip(given, mode, strict=True)):
        if by_row:
            operands.append([address_of(one), 4 if kind == "v" else 0, 0, 0, 0, 0])
        elif kind == "v":
            step = one.strides[0] if one.ndim == 2 else 0
            operands.append([address_of(one), step, step, 4, 0, 0])
        else:
            step = 4 if one.size > 1 else 0
            operands.append([address_of(one), step, step, 0, 0, 0])
        single |= (kind == "s") << n
    single |= sum((mode[0] == "s") << n for n in range(len(mode), 3))
    if to_columns is None:
        step = to.strides[0] if to.ndim == 2 else 4
        to_columns = [step, step, 4 if to.ndim == 2 else 0, 0, 0]
    operands.append([address_of(to), *to_columns])
    places = [*range(len(mode)), *[0] * (3 - len(mode))]
    lines = [[OPERATION[what], int(by_row), single, len(mode), *places]]
    section = [0, 1, 1] if by_row else [0, 0, 1]
    tables = [np.array(one, np.int64) for one in ([section], lines, operands)]
    kernels.function(block_programs.NAME)(
        *(0, rows, 0, width, each, block or rows, some or width, len(mode)),
        *tables,
        np.zeros(64, np.float32),
    )


def lent(array: Any, *, apart: int = 0) -> Any:
    """The array in memory that ends at a protected page, with this row stride in numbers."""
    rows, width = array.shape if array.ndim == 2 else (1, array.size)
    lender = Lender.of_thread()
    size = (rows - 1) * (width + apart) + width
    memory = lender.lend((size,), np.dtype(np.float32), NOT_A_NUMBER).array
    steps = 4 * (width + apart), 4
    made = np.lib.stride_tricks.as_strided(memory, (rows, width), steps)
    made[...] = array.reshape(rows, width)
    return made if array.ndim == 2 else made[0]


@pytest.fixture(autouse=True)
def _memory() -> Iterator[None]:
    yield
    lender = Lender.of_thread()
    assert all(one.is_intact for one in lender._lent if one.array.ndim == 1)
    lender.take_back()


CASES = [(name, mode) for name, modes in MODES.items() for mode in modes]


@pytest.mark.parametrize("what", CASES, ids=lambda one: f"{one[0]}-{one[1]}")
def test_an_instruction_is_its_formula(what: tuple[str, str]) -> None:
    name, mode = what
    random = np.random.default_rng(len(name) * 7 + len(mode))
    for rows, width in SIZES:
        for apart, specials in ((0, False), (0, True), (5, True)):
            given, seen = [], []
            for kind in mode:
                shape = (rows, width) if kind == "v" else (rows,)
                one = numbers(random, shape, specials=specials)
                given.append(lent(one, apart=apart if kind == "v" else 0))
                seen.append(one if kind == "v" else one[:, None])
            to = lent(np.zeros((rows, width), np.float32), apart=apart)
            run(what, to, given, rows, width)
            with np.errstate(all="ignore"):
                exact, moved = reference(name, seen)
                wanted = np.broadcast_to(exact, (rows, width)).astype(np.float32)
            check(name, to, wanted, moved)


def check(name: str, found: Any, wanted: Any, moved: Any) -> None:
    ulps = 3 if name in block_programs.PAIRS.values() else EXACT[name][1]
    with np.errstate(all="ignore"):
        allowed = ulps * np.spacing(np.abs(wanted)).astype(np.float64) + moved
        # Exponentials below the smallest normal number may be 0.
        allowed = np.where(np.isfinite(allowed), allowed + (ulps > 1) * 1.2e-38, np.inf)
        apart = np.abs(found.astype(np.float64) - wanted)
        alike = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        edge = np.abs(wanted) > 3.3e38  # which rounding turns into infinity
    right = alike | (apart <= allowed) | (edge & (np.abs(found) > 3.3e38))
    right |= ~np.isfinite(moved)  # the intermediate step is not in float32
    assert right.all(), (name, found[~right][:4], wanted[~right][:4])


@pytest.mark.parametrize("what", CASES, ids=lambda one: f"{one[0]}-{one[1]}")
def test_what_is_written_may_be_what_is_read_and_rows_may_be_numbers(
    what: tuple[str, str],
) -> None:
    _, mode = what
    random = np.random.default_rng(3)
    for rows, width in ((3, 40), (1, 77), (6, 16)):
        given = [
            numbers(random, (rows, width) if kind == "v" else (rows,), specials=False)
            for kind in mode
        ]
        apart = np.empty((rows, width), np.float32)
        run(what, apart, given, rows, width)
        for n, kind in enumerate(mode):
            if kind == "v":
                same = [one.copy() for one in given]
                run(what, same[n], same, rows, width)
                np.testing.assert_array_equal(same[n], apart)
        # The same numbers as in rows, contiguous.
        if "s" not in mode:
            narrow = np.empty(rows * width, np.float32)
            flat = [one.reshape(-1) for one in given]
            run(what, narrow, flat, rows * width, 1, by_row=True, block=37)
            np.testing.assert_array_equal(narrow, apart.reshape(-1))


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("specials", [False, True])
def test_reductions_of_rows(name: str, specials: bool) -> None:
    random = np.random.default_rng(0)
    mode = REDUCTIONS[name][0]
    for rows, width in [*SIZES, (3, 5000)]:
        for some in (0, 64, 50):
            given = [lent(numbers(random, (rows, width), specials=specials)) for _ in mode]
            to = lent(np.zeros(rows, np.float32))
            run((name, mode), to, given, rows, width, block=1 if some else 0, some=some)
            wide = [one.astype(np.float64) for one in given]
            with np.errstate(all="ignore"):
                terms = wide[0] if len(wide) == 1 else wide[0] * wide[1]
                exact = larger_of_rows(terms) if name == "ROW_LARGEST" else terms.sum(-1)
                size = np.abs(terms).sum(-1)
            if name == "ROW_LARGEST":
                np.testing.assert_array_equal(to, exact.astype(np.float32))
            elif not specials:
                assert (np.abs(to - exact) <= 1e-5 * size).all()
            else:
                finite = np.isfinite(terms).all(-1) & (size < 1e38)
                # Numbers below the smallest normal one may be treated as 0.
                apart = np.abs(to[finite] - exact[finite])
                assert (apart <= 1e-5 * size[finite] + width * 1.2e-38).all()
                assert np.isnan(to[np.isnan(exact)]).all()


def larger_of_rows(terms: Any) -> Any:
    return np.where(np.isnan(terms).any(-1), np.nan, terms.max(-1))


@pytest.mark.parametrize("what", [(n, m) for n, modes in TOTALS.items() for m in modes])
def test_totals_go_on_with_what_is_there_part_by_part(what: tuple[str, str]) -> None:
    name, mode = what
    random = np.random.default_rng(1)
    for rows, width in [*SIZES, (40, 130)]:
        for each, block in ((ALL, 0), (7, 3)):
            given = [
                lent(numbers(random, (rows, width) if kind == "v" else (rows,), specials=False))
                for kind in mode
            ]
            parts = 1 if each == ALL else -(-rows // each)
            before = numbers(random, (parts, width), specials=False)
            to = lent(before)
            columns = [0, 0, 4, 0, 4 * width]
            run((name, mode), to, given, rows, width, block=block, each=each, to_columns=columns)
            terms = np.ones((rows, width))
            for one in given:
                terms = terms * (one if one.ndim == 2 else one[:, None]).astype(np.float64)
            for part in range(parts):
                own = terms[part * each : (part + 1) * each] if each != ALL else terms
                exact = before[part] + own.sum(0)
                size = np.abs(before[part]) + np.abs(own).sum(0)
                assert (np.abs(to[part] - exact) <= 1e-5 * size).all()
