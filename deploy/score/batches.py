"""A model run on batches of rows: rows are grouped by shape, and refused rows are isolated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.deploy.score.fitting import RowSpec
from pinnace.framework.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.models.runners import Runner
    from pinnace.deploy.score.fitting import Rows
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.tensor import Array

# Errors that a row's values cause; others concern the model or the machine.
_OF_ROWS = (InvalidArgumentError, OutOfRangeError, DataLossError)
_MOST_ROWS, _BATCH_BYTES, _UNKNOWN_ROWS = 1024, 1 << 25, 64


class Batches:
    """A signature of a model, run on rows.

    Args:
        runner: the signature.
        outputs: names of the wanted outputs; all if empty.
        batch_size: rows per run; None chooses it by the size of a row.
        finite: whether NaN and infinite values are refused in inputs.

    Raises:
        InvalidArgumentError: an input has no axis of rows, an output does not exist or cannot be
            written, or the model has a different fixed batch size.
    """

    def __init__(
        self, runner: Runner, outputs: Sequence[str], batch_size: int | None, *, finite: bool
    ) -> None:
        self._runner = runner
        self.specs: dict[str, RowSpec] = {}
        fixed: set[int] = set()
        for name, spec in runner.inputs.items():
            dims = spec.shape.dims
            if dims is not None and not dims:
                raise InvalidArgumentError(
                    f"{runner.path}: input {name!r} is a scalar and not a row for each example; "
                    "only signatures whose inputs all have an axis of rows can be scored"
                )
            if dims is not None and dims[0] is not None:
                fixed.add(dims[0])
            sizes = None if dims is None else tuple(dims[1:])
            self.specs[name] = RowSpec(spec.dtype, sizes, finite)
        if not self.specs:
            raise InvalidArgumentError(f"{runner.path}: the signature has no inputs")
        self._fixed = _one_of(fixed, runner, batch_size)
        self.size = self._fixed or batch_size or _sized(self.specs)
        self.outputs = _chosen(runner, outputs)

    def run(
        self, feeds: Mapping[str, Rows], places: Sequence[int]
    ) -> tuple[list[int], dict[str, Rows], dict[int, str]]:
        """The outputs for rows.

        Args:
            feeds: rows of each input.
            places: the indices of the rows to run.

        Returns:
            The indices with outputs, in order; the outputs, row by row; and for other indices the
                reason.
        """
        done: list[tuple[list[int], dict[str, Array]]] = []
        bad: dict[int, str] = {}
        for group in _alike(feeds, places):
            self._run_alike(feeds, group, done, bad)
        if not done:
            return [], {}, bad
        if len(done) == 1:
            return done[0][0], dict(done[0][1]), bad
        order = np.argsort(np.concatenate([group for group, _ in done]), kind="stable")
        all_places = sorted(place for group, _ in done for place in group)
        outputs = {
            name: _ordered([found[name] for _, found in done], order) for name in self.outputs
        }
        return all_places, outputs, bad

    def _run_alike(
        self,
        feeds: Mapping[str, Rows],
        places: list[int],
        done: list[tuple[list[int], dict[str, Array]]],
        bad: dict[int, str],
    ) -> None:
        """Run rows of equal shape; if the model refuses them, run both halves."""
        try:
            done.append((places, self._call(_stacked(feeds, places), len(places))))
        except ResourceExhaustedError as error:
            raise ResourceExhaustedError(
                f"{self._runner.path}: {error}\n  Try: a smaller --batch-size than {self.size}"
            ) from None
        except _OF_ROWS as error:
            if len(places) == 1:
                bad[places[0]] = f"the model refuses it: {' '.join(str(error).split())}"
                return
            middle = len(places) // 2
            for half in (places[:middle], places[middle:]):
                self._run_alike(feeds, half, done, bad)

    def _call(self, arrays: dict[str, Array], count: int) -> dict[str, Array]:
        if self._fixed is not None and count < self._fixed:
            filling = [*range(count), *([count - 1] * (self._fixed - count))]
            arrays = {name: array[filling] for name, array in arrays.items()}
        given = self._fixed or count
        found = self._runner.run(arrays)
        outputs = {}
        for name in self.outputs:
            array = np.asarray(found[name])
            if array.ndim == 0 or len(array) != given:
                raise FailedPreconditionError(
                    f"{self._runner.path}: output {name!r} is {list(array.shape)} for {given} "
                    "rows, and not a row for each\n  Try: --outputs with the others"
                )
            outputs[name] = array[:count]
        return outputs


def _one_of(fixed: set[int], runner: Runner, batch_size: int | None) -> int | None:
    """The fixed batch size of a model; None if it is variable."""
    if not fixed:
        return None
    if len(fixed) > 1:
        raise InvalidArgumentError(
            f"{runner.path}: its inputs begin with axes of {sorted(fixed)}, which cannot all be "
            "the rows"
        )
    (size,) = fixed
    if batch_size not in (None, size):
        raise InvalidArgumentError(
            f"--batch-size: the model takes {size} rows at a time, got {batch_size}"
        )
    return size


def _sized(specs: Mapping[str, RowSpec]) -> int:
    """Rows with inputs of some 32 MiB, at most 1024; 64 if sizes are unknown."""
    count = 0
    for spec in specs.values():
        if spec.sizes is None or None in spec.sizes:
            return _UNKNOWN_ROWS
        count += math.prod(int(n or 0) for n in spec.sizes) * spec.dtype.numpy.itemsize
    return max(1, min(_MOST_ROWS, _BATCH_BYTES // max(count, 1)))


def _chosen(runner: Runner, wanted: Sequence[str]) -> dict[str, TensorSpec]:
    chosen: dict[str, TensorSpec] = {}
    for name in wanted or runner.outputs:
        if name not in runner.outputs:
            raise InvalidArgumentError(
                f"--outputs: {runner.path} has no output {name!r}; it has: "
                f"{', '.join(runner.outputs)}"
            )
        spec = runner.outputs[name]
        if spec is None or spec.dtype.numpy.kind == "c":
            kind = "no tensor" if spec is None else spec.dtype.name
            raise InvalidArgumentError(
                f"{runner.path}: output {name!r} is {kind}, for which files of results have no type"
                "\n  Try: --outputs with the others"
            )
        chosen[name] = spec
    return chosen


def _alike(feeds: Mapping[str, Rows], places: Sequence[int]) -> list[list[int]]:
    """The indices grouped by the shapes of their rows, in order of first occurrence."""
    ragged = [rows for rows in feeds.values() if isinstance(rows, list)]
    groups: dict[Any, list[int]] = {}
    for place in places:
        groups.setdefault(tuple(rows[place].shape for rows in ragged), []).append(place)
    return list(groups.values())


def _stacked(feeds: Mapping[str, Rows], places: list[int]) -> dict[str, Array]:
    found = {}
    run = slice(places[0], places[-1] + 1)
    together = run.stop - run.start == len(places)
    for name, rows in feeds.items():
        if isinstance(rows, list):
            found[name] = np.stack([rows[place] for place in places])
        else:
            found[name] = rows[run] if together else rows[places]
    return found


def _ordered(pieces: list[Array], order: Any) -> Rows:
    """Rows of several runs in their order; a list if their shapes differ."""
    if len({piece.shape[1:] for piece in pieces}) == 1:
        joined: Array = np.concatenate(pieces)[order]
        return joined
    rows = [row for piece in pieces for row in piece]
    return [rows[index] for index in order]
