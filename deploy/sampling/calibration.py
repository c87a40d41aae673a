"""Calibration examples from an `.npz` file or arrays, in small batches."""

import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pinnace.deploy.program.sources import Program
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array

Feeds: TypeAlias = dict[str, Array]
_ROWS = 16  # examples in one run
_HELD_OUT = 5  # every fifth batch is for the comparison, not for the calibration


def calibration_feeds(
    given: str | os.PathLike[str] | Mapping[str, Any], program: Program
) -> list[Feeds]:
    """Read the calibration examples in small batches.

    Args:
        given: an `.npz` file, or arrays by name. An array has the shape of its input, with any
            number of examples on a variable first axis, or with an axis of examples in front.
        program: the program that takes the inputs.

    Raises:
        NotFoundError: the file does not exist.
        InvalidArgumentError: the file cannot be read, or an array does not match its input.
    """
    arrays = _arrays(given)
    if set(arrays) != set(program.inputs):
        raise InvalidArgumentError(
            f"export: the calibration must have the inputs {sorted(program.inputs)}, "
            f"got {sorted(arrays)}"
        )
    split = {name: list(_runs(name, arrays[name], program.inputs[name])) for name in arrays}
    counts = {name: len(runs) for name, runs in split.items()}
    if len(set(counts.values())) != 1 or not all(counts.values()):
        raise InvalidArgumentError(
            "export: the inputs of the calibration must have equally many examples, at least one; "
            f"runs of up to {_ROWS} examples: {counts}"
        )
    count = next(iter(counts.values()))
    return [{name: split[name][i] for name in program.inputs} for i in range(count)]


def held_out(feeds: Sequence[Feeds]) -> tuple[list[Feeds], list[Feeds], str]:
    """Split batches for calibration and comparison; also returns a description of the latter."""
    if len(feeds) < 2:
        return list(feeds), list(feeds), "calibration"
    kept = [one for i, one in enumerate(feeds) if (i + 1) % _HELD_OUT]
    rest = [one for i, one in enumerate(feeds) if (i + 1) % _HELD_OUT == 0]
    if not rest:
        kept, rest = list(feeds[:-1]), [feeds[-1]]
    return kept, rest, "held-out"


def _arrays(given: str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Array]:
    if isinstance(given, Mapping):
        return {str(name): np.asarray(value) for name, value in given.items()}
    path = Path(given)
    if not path.is_file():
        raise NotFoundError(f"export: there is no calibration file {os.fspath(given)!r}")
    try:
        with path.open("rb") as file:
            archive: Any = np.load(file, allow_pickle=False)
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise InvalidArgumentError(
            f"export: {os.fspath(given)!r} cannot be read as .npz: {error}"
            "\n  Try: np.savez(path, input_name=array)"
        ) from error


def _runs(name: str, array: Array, spec: TensorSpec) -> Iterator[Array]:
    sizes = list(spec.shape)
    rank = len(sizes)
    if array.ndim not in (rank, rank + 1) or not _fits(array.shape[array.ndim - rank :], sizes):
        raise InvalidArgumentError(
            f"export: calibration of {name!r} has shape {list(array.shape)}; must be {spec.text}, "
            "or have one more axis in front"
        )
    if array.dtype.kind in "OSU" or not np.can_cast(array.dtype, spec.dtype.numpy, "same_kind"):
        raise InvalidArgumentError(
            f"export: calibration of {name!r} is {array.dtype}; must be {spec.dtype.name}"
        )
    array = array.astype(spec.dtype.numpy)
    if array.ndim > rank:
        yield from array
    elif rank and sizes[0] is None:
        yield from (array[i : i + _ROWS] for i in range(0, len(array), _ROWS))
    else:
        yield array


def _fits(shape: Sequence[int], sizes: Sequence[int | None]) -> bool:
    return all(wanted in (None, size) for size, wanted in zip(shape, sizes, strict=True))
