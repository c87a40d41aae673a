"""The differences of two SavedModels: signatures, ops, functions, variables, outputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError
from pinnace.saved_model.inspection import VARIABLE_VALUE, inspect
from pinnace.saved_model.layout import variables_prefix
from pinnace.storage.bundle import BundleReader, index_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pinnace.framework.tensor import Array
    from pinnace.saved_model.inspection import ModelReport, SignatureReport

_CHUNK = 1 << 22  # elements that are compared at a time


@dataclass(frozen=True, slots=True)
class ArrayDifference:
    """The difference of two arrays.

    Attributes:
        name: their name.
        largest: the largest |a - b|; infinite if one is NaN and the other is not; None for arrays
            that are not compared as numbers.
        relative: `largest` divided by the largest |a|.
        unequal: the number of elements that differ.
        size: the number of elements.
        note: shapes or dtypes if these differ; nothing else is compared then.
    """

    name: str
    largest: float | None
    relative: float | None
    unequal: int
    size: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of two models; all fields are empty if there are none.

    Attributes:
        signatures: sentences.
        ops: op -> number of nodes in the first and in the second model.
        functions: sentences.
        only_in_a: names of variables.
        only_in_b: names of variables.
        variables: variables of both models that differ, the largest difference first.
        equal_variables: the number of equal variables.
        assets: sentences.
        outputs: differences of the outputs, if the models were run.
    """

    signatures: tuple[str, ...]
    ops: Mapping[str, tuple[int, int]]
    functions: tuple[str, ...]
    only_in_a: tuple[str, ...]
    only_in_b: tuple[str, ...]
    variables: tuple[ArrayDifference, ...]
    equal_variables: int
    assets: tuple[str, ...]
    outputs: tuple[ArrayDifference, ...] = ()

    @property
    def any(self) -> bool:
        """Whether there is any difference."""
        return bool(
            self.signatures
            or self.ops
            or self.functions
            or self.only_in_a
            or self.only_in_b
            or self.variables
            or self.assets
            or self.outputs
        )


def compare(a: Path, b: Path, tags: list[str] | None = None, tolerance: float = 0.0) -> Differences:
    """Compare two SavedModels without running them.

    Args:
        a: the first folder.
        b: the second folder.
        tags: the tags of the graph, if there are several.
        tolerance: weights that differ by at most this, relative to the largest, count as equal.
    """
    one, other = inspect(a, tags), inspect(b, tags)
    only_a, only_b, variables, equal = _variables(a, b, tolerance)
    return Differences(
        tuple(_signatures(one, other)),
        _ops(one, other),
        tuple(_functions(one, other)),
        only_a,
        only_b,
        variables,
        equal,
        tuple(_assets(a, b, one, other)),
    )


def _signatures(one: ModelReport, other: ModelReport) -> Iterable[str]:
    ours = {signature.name: signature for signature in one.signatures}
    theirs = {signature.name: signature for signature in other.signatures}
    yield from (f"{name}: only in A" for name in ours if name not in theirs)
    yield from (f"{name}: only in B" for name in theirs if name not in ours)
    for name in ours.keys() & theirs.keys():
        yield from _tensors(name, ours[name], theirs[name])


def _tensors(name: str, ours: SignatureReport, theirs: SignatureReport) -> Iterable[str]:
    for what, left, right in (
        ("input", ours.inputs, theirs.inputs),
        ("output", ours.outputs, theirs.outputs),
    ):
        first = {one.name: f"{one.dtype}{one.shape}" for one in left}
        second = {one.name: f"{one.dtype}{one.shape}" for one in right}
        for key in dict.fromkeys((*first, *second)):
            if first.get(key) != second.get(key):
                texts = first.get(key, "missing"), second.get(key, "missing")
                yield f"{name}: {what} {key!r} is {texts[0]} in A, {texts[1]} in B"


def _ops(one: ModelReport, other: ModelReport) -> dict[str, tuple[int, int]]:
    ours = {op.name: op.count for op in one.ops}
    theirs = {op.name: op.count for op in other.ops}
    return {
        name: (ours.get(name, 0), theirs.get(name, 0))
        for name in sorted({*ours, *theirs})
        if ours.get(name) != theirs.get(name)
    }


def _functions(one: ModelReport, other: ModelReport) -> Iterable[str]:
    ours = {function.path: set(function.traces) for function in one.functions}
    theirs = {function.path: set(function.traces) for function in other.functions}
    for name in sorted({*ours, *theirs}):
        if name not in theirs:
            yield f"{name}: only in A"
        elif name not in ours:
            yield f"{name}: only in B"
        else:
            yield from (f"{name}{trace}: only in A" for trace in sorted(ours[name] - theirs[name]))
            yield from (f"{name}{trace}: only in B" for trace in sorted(theirs[name] - ours[name]))


def _assets(a: Path, b: Path, one: ModelReport, other: ModelReport) -> Iterable[str]:
    ours = {asset.name for asset in one.assets}
    theirs = {asset.name for asset in other.assets}
    yield from (f"{name}: only in A" for name in sorted(ours - theirs))
    yield from (f"{name}: only in B" for name in sorted(theirs - ours))
    for name in sorted(ours & theirs):
        files = [folder / "assets" / name for folder in (a, b)]
        present = [file.is_file() for file in files]
        if present[0] is not present[1]:
            yield f"{name}: the file is missing in {'AB'[present[0]]}"
        elif all(present) and not _same_bytes(*files):
            yield f"{name}: the files differ"


def _same_bytes(a: Path, b: Path) -> bool:
    if a.stat().st_size != b.stat().st_size:
        return False
    with a.open("rb") as one, b.open("rb") as other:
        while True:
            left, right = one.read(_CHUNK), other.read(_CHUNK)
            if left != right:
                return False
            if not left:
                return True


class _Variables:
    """The variables of a model by name; each is read when it is compared."""

    def __init__(self, folder: Path) -> None:
        prefix = variables_prefix(folder)
        self._reader = BundleReader(prefix) if Path(index_path(prefix)).exists() else None
        keys = self._reader.keys() if self._reader is not None else []
        self._keys = {
            key.removesuffix(VARIABLE_VALUE): key
            for key in keys
            if not key.startswith("_CHECKPOINTABLE_OBJECT_GRAPH")
        }

    def names(self) -> list[str]:
        return list(self._keys)

    def read(self, name: str) -> Array:
        if self._reader is None:
            raise InvalidArgumentError(f"there is no variable {name!r}")
        return self._reader.read(self._keys[name])


def _variables(
    a: Path, b: Path, tolerance: float
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[ArrayDifference, ...], int]:
    ours, theirs = _Variables(a), _Variables(b)
    in_both = [name for name in ours.names() if name in set(theirs.names())]
    found = [array_difference(name, ours.read(name), theirs.read(name)) for name in in_both]
    differing = [one for one in found if is_beyond(one, tolerance)]
    differing.sort(key=lambda one: -_weight(one))
    return (
        tuple(name for name in ours.names() if name not in set(in_both)),
        tuple(name for name in theirs.names() if name not in set(in_both)),
        tuple(differing),
        len(in_both) - len(differing),
    )


def _weight(one: ArrayDifference) -> float:
    return float("inf") if one.note or one.largest is None else one.largest


def is_beyond(one: ArrayDifference, tolerance: float) -> bool:
    """Whether a difference exceeds the tolerance."""
    if one.note or one.largest is None:
        return bool(one.note) or one.unequal > 0
    # Integers beyond 2**53 may differ although their difference as floats is 0.
    return one.unequal > 0 and (tolerance == 0 or one.relative is None or one.relative > tolerance)


def array_difference(name: str, a: Array, b: Array) -> ArrayDifference:
    """The difference of two arrays, computed in parts to save memory."""
    if a.shape != b.shape or a.dtype != b.dtype:
        text = f"{_spec(a)} in A, {_spec(b)} in B"
        return ArrayDifference(name, None, None, max(a.size, b.size), a.size, text)
    left, right = a.reshape(-1), b.reshape(-1)
    if a.dtype == object:
        unequal = sum(x != y for x, y in zip(left.tolist(), right.tolist(), strict=True))
        return ArrayDifference(name, None, None, unequal, a.size)
    unequal, largest, scale = 0, 0.0, 0.0
    wide: Any = np.complex128 if a.dtype.kind == "c" else np.float64
    for start in range(0, left.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        # Equal bytes are equal values, also for NaN.
        if left[part].tobytes() == right[part].tobytes():
            scale = max(scale, _magnitude(left[part].astype(wide)))
            continue
        x, y = left[part].astype(wide), right[part].astype(wide)
        with np.errstate(all="ignore"):
            gap = np.abs(x - y)
        gap[(x == y) | (np.isnan(x) & np.isnan(y))] = 0
        gap[np.isnan(gap)] = np.inf
        # Integers beyond 2**53 may differ although they are equal as floats.
        differs = (gap > 0) | ((left[part] != right[part]) & ~(np.isnan(x) & np.isnan(y)))
        unequal += int(np.count_nonzero(differs))
        largest = max(largest, float(gap.max(initial=0.0)))
        scale = max(scale, _magnitude(x))
    relative = largest / scale if scale else (0.0 if largest == 0 else float("inf"))
    return ArrayDifference(name, largest, relative, unequal, a.size)


def _magnitude(x: Array) -> float:
    finite = np.abs(x[np.isfinite(x)])
    return float(finite.max(initial=0.0))


def _spec(array: Array) -> str:
    kind = "string" if array.dtype == object else str(array.dtype)
    return f"{kind}{list(array.shape)}"
