"""Sample inputs and the model's outputs for them.

The numbers come from this project's own generator: they are the same with every version of NumPy,
whose generators need not be imported.
"""

import itertools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pinnace.deploy.program.deadlines import FIRST_S
from pinnace.deploy.program.sources import Program
from pinnace.deploy.sampling.numbers import demands_of, searches
from pinnace.deploy.sampling.styles import in_order, in_styles
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import DeadlineExceededError, FailedPreconditionError, OpError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.ops.kernels.philox import KeyCounter, key_counter_from_seed, normal, uniform_int

# The sizes to try for unknown axes; every batch size is combined with every size.
_BATCHES = (2, 1, 3, 4)
_SIZES = (2, 3, 1, 8, 16, 32, 5, 64, 224)
_TRIES = 48
# The limit of all inputs' elements: a size of 224 on four axes would be ten thousand million.
_MOST_DRAWN = 1 << 24
# If a row takes longer than this (seconds), it is run alone here, and as the last of two elsewhere.
_DEAR_S = 0.1
# Seconds for inputs of the styles, of which there are many.
_STYLED_S = 20.0
_SEED = 20_261_120
WORDS = np.array([b"", b"a", b"pinnace", b"two words"], object)


class Run(NamedTuple):
    """Inputs for both sides, and the reference outputs.

    Attributes:
        inputs: the inputs, in the program's order.
        outputs: pinnace's outputs for them.
        wide: inputs with more rows, whose last ones are `inputs`: the other runtime gets these.
            One row alone and the same row in a batch agree only if no size is fixed and no row
            depends on others.
        kind: the kind of inputs: "drawn", "sample", or the name of a corner.
    """

    inputs: list[Array]
    outputs: tuple[Array, ...]
    wide: list[Array] | None = None
    kind: str = "drawn"


class Patience:
    """The time limits of runs on drawn inputs, as a loop may not terminate on some of them.

    Args:
        most_s: the limit for one run, and for all runs together that exceeded theirs.
    """

    def __init__(self, most_s: float) -> None:
        self._next_s = min(FIRST_S, most_s)
        self._left_s = self._most_s = most_s

    @property
    def is_over(self) -> bool:
        """Whether the time is used up."""
        return self._left_s <= 0

    def outcome(self, program: Program, arrays: list[Array]) -> tuple[Array, ...] | None:
        """The program's outputs; None if it refuses the inputs or exceeds the limit."""
        if self.is_over:
            return None
        try:
            return program.run(arrays, self._next_s)
        except DeadlineExceededError:
            self._left_s -= self._next_s
            self._next_s = min(2 * self._next_s, self._most_s)
            return None
        except (OpError, ValueError, IndexError, TypeError, MemoryError):
            return None


def runs_of(program: Program, sample: Mapping[str, Any] | None, words: Array = WORDS) -> list[Run]:
    """Sample inputs, and pinnace's outputs for them.

    Args:
        program: the model.
        sample: inputs by name; None draws random ones.
        words: the strings to draw from.

    Raises:
        FailedPreconditionError: no inputs that the model takes were found.
    """
    patience = Patience(program.limit_s)
    if sample is not None:
        found = [_sample(program, sample)]
    else:
        found = list(_drawn(program, words, patience)) or list(_styled(program, words, patience))
    if not found:
        wanted = ", ".join(f"{name}: {spec.text}" for name, spec in program.inputs.items())
        within = f" within {program.limit_s:g} s" if patience.is_over else ""
        raise FailedPreconditionError(
            f"export: no inputs that the model takes were found{within}, so "
            "nothing could be compared\n"
            f"  inputs: {wanted}\n  Try: export(..., sample={{name: array, ...}}); "
            "at the command line --sample FILE.npz"
        )
    return found


def _sample(program: Program, sample: Mapping[str, Any]) -> Run:
    if set(sample) != set(program.inputs):
        raise FailedPreconditionError(
            f"export: sample must have the inputs {sorted(program.inputs)}, got {sorted(sample)}"
        )
    arrays = [_of_type(sample[name], spec.dtype) for name, spec in program.inputs.items()]
    try:
        return Run(arrays, program.run(arrays), kind="sample")
    except DeadlineExceededError as error:
        remedy = "a sample that takes less, a larger verify_timeout_s, or verify=False"
        raise DeadlineExceededError(f"{error.message}\n  Try: {remedy}") from error


def _of_type(given: Any, dtype: DType) -> Array:
    """An input given by the caller; strings become bytes."""
    array = np.asarray(given)
    if dtype is not dtypes.string:
        return array.astype(dtype.numpy)
    texts = np.empty(array.size, object)
    texts[:] = [t.encode() if isinstance(t, str) else t for t in array.reshape(-1).tolist()]
    return texts.reshape(array.shape)


def _drawn(program: Program, words: Array, patience: Patience) -> Iterator[Run]:
    """Random inputs that the program takes, with two sizes of every unknown axis if possible."""
    streams = streams_from(0)
    is_sorted = searches(program.concrete.graph)
    shapes = [list(spec.shape) for spec in program.inputs.values()]
    missing = {
        "batch": 2 if any(None in shape[:1] for shape in shapes) else 0,
        "inner": 2 if any(None in shape[1:] for shape in shapes) else 0,
    }
    seen: dict[str, set[int]] = {"batch": set(), "inner": set()}
    found = 0
    for attempt in range(_TRIES):
        if patience.is_over:
            return
        size = {"batch": _BATCHES[attempt % len(_BATCHES)], "inner": _SIZES[attempt % len(_SIZES)]}
        wanted = [kind for kind in seen if len(seen[kind]) < missing[kind]]
        is_seen = bool(found and wanted) and all(size[kind] in seen[kind] for kind in wanted)
        if is_seen or not _fits(program.inputs.values(), **size):
            continue
        high = 2 if attempt % 2 else 10
        arrays = [
            draw(next(streams), spec, size["batch"], size["inner"], high, words)
            for spec in program.inputs.values()
        ]
        arrays = in_order(arrays) if is_sorted else arrays
        alone = None if found or missing["inner"] else _last_row(program, arrays)
        if alone is not None:
            began = time.perf_counter()
            expected = patience.outcome(program, alone)
            if expected is not None:
                is_dear = time.perf_counter() - began > _DEAR_S
                if is_dear and _has_rows(program, expected):
                    yield Run(alone, expected, arrays)
                    return
                yield Run(alone, expected)
                found += 1
                seen["batch"].add(1)
        expected = patience.outcome(program, arrays)
        if expected is None:
            continue
        found += 1
        for kind, sizes in seen.items():
            sizes.add(size[kind])
        yield Run(arrays, expected)
        if found >= 2 and all(len(seen[kind]) >= missing[kind] for kind in seen):
            return


def more_of(
    program: Program, feeds: Sequence[Mapping[str, Array]], rows: int, most_s: float
) -> Iterator[Mapping[str, Array]]:
    """Yield inputs, then random ones of the shape of the last, until there are enough rows.

    Args:
        program: the program that takes them.
        feeds: inputs by name that the program takes.
        rows: the number of examples, counted on the first axis.
        most_s: the time limit in seconds, as large networks run slowly.
    """
    yield from feeds
    began = time.perf_counter()
    shapes = {name: array.shape for name, array in feeds[-1].items()}
    each = max((shape[0] if shape else 1 for shape in shapes.values()), default=1)
    streams = streams_from(1)
    for _ in range(-(-rows // max(each, 1))):
        if time.perf_counter() - began > most_s:
            return
        yield {
            name: draw(next(streams), TensorSpec(shapes[name], spec.dtype), 1, 1)
            for name, spec in program.inputs.items()
        }


def _last_row(program: Program, arrays: list[Array]) -> list[Array] | None:
    """The last row of each input if all have the same number of rows, more than one; else None."""
    for spec, array in zip(program.inputs.values(), arrays, strict=True):
        if not spec.shape.rank or spec.shape[0] is not None or len(array) < 2:
            return None
    return [array[-1:] for array in arrays]


def _has_rows(program: Program, outputs: tuple[Array, ...]) -> bool:
    """Whether each output is one row of a variable number."""
    specs = program.outputs.values()
    return all(
        spec.shape.rank and spec.shape[0] is None and len(array) == 1
        for spec, array in zip(specs, outputs, strict=True)
    )


def _styled(program: Program, words: Array, patience: Patience) -> Iterator[Run]:
    """Two runs on inputs in a style, for models that take no others: sorted, sizes, ..."""
    streams = streams_from(3)
    found = 0
    demands = [(n, n) for n in demands_of(program.concrete.graph)]
    demands += [(2, n) for n, _ in demands]
    began = time.perf_counter()
    for batch, inner in (*demands, *zip(itertools.cycle((2, 4, 3)), _SIZES[:5], strict=False)):
        if not _fits(program.inputs.values(), batch, inner):
            continue
        drawn = [
            draw(next(streams), spec, batch, inner, 10, words) for spec in program.inputs.values()
        ]
        for arrays in itertools.chain([drawn], in_styles(drawn)):
            if patience.is_over or time.perf_counter() - began > _STYLED_S:
                return
            expected = patience.outcome(program, arrays)
            if expected is not None:
                yield Run(arrays, expected)
                found += 1
                break
        if found == 2:
            return


def _fits(specs: Iterable[TensorSpec], batch: int, inner: int) -> bool:
    """Whether the inputs' elements stay below the limit: many axes may share one size."""
    return sum(math.prod(_shape_of(spec, batch, inner)) for spec in specs) <= _MOST_DRAWN


def _shape_of(spec: TensorSpec, batch: int, inner: int) -> list[int]:
    return [
        (batch if axis == 0 else inner) if n is None else n for axis, n in enumerate(spec.shape)
    ]


def streams_from(purpose: int) -> Iterator[KeyCounter]:
    """Random streams, different for each purpose."""
    return (key_counter_from_seed((_SEED + purpose, number)) for number in itertools.count())


def draw(
    stream: KeyCounter,
    spec: TensorSpec,
    batch: int,
    inner: int,
    high: int = 10,
    words: Array = WORDS,
) -> Array:
    """Random values of a spec: normal floats, integers below `high`, or words.

    Args:
        stream: the random stream.
        spec: the spec.
        batch: the size of an unknown first axis.
        inner: the size of other unknown axes.
        high: the exclusive upper bound of integers.
        words: the strings to draw from.
    """
    shape, dtype = _shape_of(spec, batch, inner), spec.dtype
    if dtype.is_floating:
        drawn = np.float64 if dtype is dtypes.float64 else np.float32
        return normal(stream, shape, np.dtype(drawn)).astype(dtype.numpy)

    def below(limit: int) -> Array:
        return uniform_int(stream, shape, 0, limit, np.dtype(np.int64))

    if dtype.is_integer:
        return below(high).astype(dtype.numpy)
    if dtype.is_bool:
        return below(2).astype(np.bool_)
    return np.asarray(words[below(len(words))], object).reshape(shape)
