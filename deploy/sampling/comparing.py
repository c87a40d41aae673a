"""Comparison of another runtime's outputs with pinnace's.

The runtime gets all runs at once, so that a separate process starts only once.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pinnace.deploy.program.sources import Program, next_numbers
from pinnace.deploy.sampling.samples import Run
from pinnace.framework import dtypes
from pinnace.framework.dtypes import DType
from pinnace.framework.errors import InternalError, OpError
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array

# Relative to the largest absolute value of an output. Both sides sum products in float32 in their
# own order: sums of a thousand terms differ by some 1e-6 of their size, and a network chains a few
# dozen of them.
TOLERANCES: dict[DType, float] = {
    dtypes.float64: 1e-5,  # operators that lack a float64 kernel compute in float32
    dtypes.float32: 1e-5,
    dtypes.float16: 2e-3,  # two units in the last place of 11 bits
    dtypes.bfloat16: 2e-2,  # two units in the last place of 8 bits
    dtypes.complex64: 1e-5,
    dtypes.complex128: 1e-5,
}
# The change of an output when inputs or weights move by one unit in the last place, times this
# factor, is allowed as well.
_CONDITION = 8.0
# Zeros have no such unit, and equal numbers that move together remain equal, which a normalisation
# turns into 0: at corners they move separately. This share of the output is the upper bound for it.
_MOST_APART = 1e-2
_ADVICE = (
    "\n  Try: sample={name: array, ...} (--sample FILE.npz), if the model is not made for random "
    "inputs\n  Try: verify=False, to write the file without a comparison"
)

# Kinds of runs whose failure needs no explanation in the message.
_ORDINARY = {"drawn", "sample"}
Runs = Callable[[Sequence[Sequence[Array]]], Sequence[Mapping[str, Array] | str]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The differences between a runtime's outputs and pinnace's.

    Attributes:
        largest: output -> the largest absolute difference.
        relative: output -> the same, divided by the output's largest value.
        batches: the number of input sets.
        kinds: kind of inputs -> number of input sets.
        failed: kind of inputs at a corner or of empty inputs -> the runtime's error for them.
    """

    largest: Mapping[str, float]
    relative: Mapping[str, float]
    batches: int
    kinds: Mapping[str, int]
    failed: Mapping[str, str]


def agreement(
    program: Program,
    run_all: Runs,
    runs: Sequence[Run],
    runtime: str,
    drawn: Sequence[str] = (),
    slack: float = 0.0,
) -> Agreement:
    """Run the runtime on the same inputs, and compare.

    Args:
        program: the model.
        run_all: the runtime: the inputs of every run in order -> outputs by name; types that it
            lacks may be wider or narrower.
        runs: inputs, and the model's outputs for them.
        runtime: its name, for errors.
        drawn: outputs that depend on random numbers.
        slack: an addition to the tolerance, relative to the largest value.

    Raises:
        InternalError: an output differs in shape or value, or the runtime fails on inputs that are
            not at a corner.
    """
    found = run_all([run.wide or run.inputs for run in runs])
    judge = Judge(program, runtime, drawn, slack=slack)
    failed: dict[str, str] = {}
    kinds: Counter[str] = Counter()
    for run, results in zip(runs, found, strict=True):
        if not isinstance(results, str):
            kinds[run.kind] += 1
            judge.look_at(run, results)
        elif run.kind in _ORDINARY and all(np.size(x) for x in (*run.inputs, *run.outputs)):
            shapes = ", ".join(f"{x.dtype}{list(x.shape)}" for x in run.wide or run.inputs)
            raise InternalError(
                f"export: {runtime} fails on inputs that pinnace takes ({shapes}): {results}"
            )
        else:
            failed["nothing" if run.kind in _ORDINARY else run.kind] = results
    return Agreement(judge.largest, judge.relative, kinds.total(), dict(kinds), failed)


class Judge:
    """Compares a runtime's outputs with the model's, run by run.

    Args:
        program: the model.
        runtime: its name, for errors.
        drawn: outputs that depend on random numbers.
        slack: an addition to the tolerance, relative to the largest value.
        exact_dtypes: whether the runtime has all types; otherwise they may be wider or narrower.

    Attributes:
        largest: output -> the largest absolute difference so far.
        relative: output -> the same, divided by the output's largest value.
    """

    def __init__(
        self,
        program: Program,
        runtime: str,
        drawn: Sequence[str] = (),
        *,
        slack: float = 0.0,
        exact_dtypes: bool = False,
    ) -> None:
        self._program, self._runtime = program, runtime
        self._drawn, self._slack, self._exact_dtypes = drawn, slack, exact_dtypes
        self.largest = {name: 0.0 for name in program.outputs if name not in drawn}
        self.relative = dict(self.largest)
        self._sizes = dict(self.largest)

    def look_at(self, run: Run, results: Mapping[str, Array]) -> None:
        """Compare one run.

        Args:
            run: inputs, and the model's outputs for them.
            results: the runtime's outputs for `run.wide`, or for the inputs if that is None.

        Raises:
            InternalError: an output differs in dtype, shape or value.
        """
        arrays, expected = run.wide or run.inputs, run.outputs
        if run.wide is not None:
            last = {name: x[1:] if x.ndim else x for name, x in results.items()}
            if self._agree(expected, last):
                arrays, results = run.inputs, last
            else:
                expected = self._program.run(arrays)  # outputs of rows may depend on other rows
        for index, (name, spec) in enumerate(self._program.outputs.items()):
            if name not in results:
                raise InternalError(f"export: {self._runtime} returns no output {name!r}")
            if name in self._drawn:
                self._check_form(name, spec, expected[index], results[name])
                continue
            difference, size = self._difference(name, spec, expected[index], results[name])
            self._sizes[name] = max(self._sizes[name], size)
            if run.kind not in _ORDINARY:
                size = self._sizes[name]  # an output that is 0 here has no size of its own
            if difference > self._tolerance(spec.dtype) * size:
                allowed = self._allowed(arrays, expected, index, spec.dtype, size)
                if run.kind not in _ORDINARY and difference > allowed:
                    allowed = max(allowed, self._apart(arrays, expected, index, spec.dtype, size))
                if difference > allowed:
                    raise InternalError(
                        f"export: output {name!r} differs by {difference:.3g} in {self._runtime}, "
                        f"allowed is {allowed:.3g} (its largest value is {size:.3g}; inputs: "
                        f"{run.kind}){_ADVICE}"
                    )
            self.largest[name] = max(self.largest[name], difference)
            share = difference / size if size else 0.0
            self.relative[name] = max(self.relative[name], share)

    def _tolerance(self, dtype: DType) -> float:
        tolerance = TOLERANCES.get(dtype)
        return 0.0 if tolerance is None else tolerance + self._slack

    def _agree(self, expected: Sequence[Array], results: Mapping[str, Array]) -> bool:
        for (name, spec), wanted in zip(self._program.outputs.items(), expected, strict=True):
            try:
                difference, size = self._difference(name, spec, wanted, results[name])
            except (InternalError, KeyError):
                return False
            if difference > self._tolerance(spec.dtype) * size:
                return False
        return True

    def _check_form(self, name: str, spec: TensorSpec, expected: Array, got: Array) -> None:
        """Check the shape and range of an output that depends on random numbers."""
        self._check_dtype(name, expected, got)
        is_told = spec.shape.is_compatible_with(Shape.of(got.shape))
        if not is_told or (got.dtype.kind == "f" and got.size and not np.isfinite(got).any()):
            raise InternalError(
                f"export: output {name!r} has the shape {list(got.shape)} or is NaN in "
                f"{self._runtime}, the signature says {spec.text}"
            )

    def _check_dtype(self, name: str, expected: Array, got: Array) -> None:
        kinds = {"b": "b", "i": "i", "u": "i", "c": "c", "O": "O", "S": "O", "U": "O"}
        is_same = expected.dtype == got.dtype
        if not is_same and not self._exact_dtypes:
            is_same = kinds.get(expected.dtype.kind, "f") == kinds.get(got.dtype.kind, "f")
        if not is_same:
            raise InternalError(
                f"export: output {name!r} is {got.dtype} in {self._runtime}, {expected.dtype} in "
                "pinnace"
            )

    def _difference(
        self, name: str, spec: TensorSpec, expected: Array, got: Array
    ) -> tuple[float, float]:
        """The largest difference of an output, and its largest value."""
        expected, got = np.asarray(expected), np.asarray(got)
        if expected.shape != got.shape:
            raise InternalError(
                f"export: output {name!r} has shape {list(got.shape)} in {self._runtime}, "
                f"{list(expected.shape)} in pinnace"
            )
        if spec.dtype is dtypes.string:
            same = [
                _bytes(a) == _bytes(b)
                for a, b in zip(expected.reshape(-1), got.reshape(-1), strict=True)
            ]
            return (0.0 if all(same) else np.inf), 0.0
        self._check_dtype(name, expected, got)
        if not expected.size:
            return 0.0, 0.0
        if spec.dtype.is_complex:
            a, b = expected.astype(np.complex128), got.astype(np.complex128)
            return float(np.max(np.abs(a - b))), float(np.max(np.abs(a)))
        if not spec.dtype.is_floating:
            if np.array_equal(expected, got):
                return 0.0, 0.0
            gap = np.abs(expected.astype(np.float64) - got.astype(np.float64))
            return float(np.max(gap)) or 1.0, 0.0  # float64 cannot represent all int64
        a, b = expected.astype(np.float64), got.astype(np.float64)
        with np.errstate(invalid="ignore"):
            same_kind = (np.isnan(a) == np.isnan(b)) & ((np.isinf(a) | np.isinf(b)) <= (a == b))
        if not same_kind.all():
            raise InternalError(
                f"export: output {name!r} is NaN or infinite at other indices in {self._runtime} "
                f"than in pinnace{_ADVICE}"
            )
        finite = np.isfinite(a)
        if not finite.any():
            return 0.0, 0.0
        return float(np.max(np.abs(a[finite] - b[finite]))), float(np.max(np.abs(a[finite])))

    def _allowed(
        self,
        arrays: Sequence[Array],
        expected: Sequence[Array],
        index: int,
        dtype: DType,
        size: float,
    ) -> float:
        """The tolerance, larger if the model magnifies the rounding of its inputs and weights."""
        tolerance = self._tolerance(dtype) * size
        if not dtype.is_floating:
            return tolerance
        # A mask with numbers other than 0 and 1 gives scores so large that additions to them lose
        # most digits. Without float inputs, moved weights show that.
        gap = max(
            self._gap([next_numbers(x) for x in arrays], expected, index),
            self._gap(arrays, expected, index, moved=True),
        )
        return max(tolerance, _CONDITION * gap)

    def _apart(
        self,
        arrays: Sequence[Array],
        expected: Sequence[Array],
        index: int,
        dtype: DType,
        size: float,
    ) -> float:
        """The tolerance where inputs are ties or zeros, and the result may jump."""
        if not dtype.is_floating:
            return 0.0
        gap = self._gap([_moved_apart(x) for x in arrays], expected, index)
        return min(_CONDITION * gap, _MOST_APART * size)

    def _gap(
        self,
        arrays: Sequence[Array],
        expected: Sequence[Array],
        index: int,
        *,
        moved: bool = False,
    ) -> float:
        """The change of an output for these inputs, with moved weights or not.

        It is 0 if the model does not take the inputs.
        """
        try:
            again = self._program.run(arrays, moved=moved)[index].astype(np.float64)
        except (OpError, ValueError, IndexError, TypeError):
            return 0.0
        with np.errstate(invalid="ignore"):
            gap = np.abs(again - expected[index].astype(np.float64))
        return float(np.max(gap, where=np.isfinite(gap), initial=0.0))


def _moved_apart(x: Array) -> Array:
    """Each number moved by one unit in its last place, up or down; all-zero arrays by that of 1."""
    if x.dtype.kind != "f" or not x.size:
        return x
    up = np.random.default_rng(0).integers(0, 2, x.shape) == 1
    unit = np.spacing(np.abs(x) if x.any() else np.ones_like(x))
    # Zeros among other numbers are kept: they may mark padded steps.
    return np.where((x == 0) & x.any(), x, np.where(up, x + unit, x - unit)).astype(x.dtype)


def _bytes(text: object) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()
