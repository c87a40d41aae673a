"""The accuracy of a smaller variant, compared with the float32 file."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnace.deploy.onnx.derived.variants import FLOAT16_LARGEST
from pinnace.deploy.onnx.verification.checking import run_session
from pinnace.framework.errors import FailedPreconditionError
from pinnace.framework.tensor import Array

Feeds = dict[str, Array]


@dataclass(frozen=True, slots=True)
class OutputAccuracy:
    """The accuracy of one output, measured against float32.

    Attributes:
        largest: the largest absolute difference.
        relative: the same, divided by the largest absolute value of the output.
        mean: the mean absolute difference.
        sqnr: signal to noise in dB; infinite without a difference, None for other types.
        top1: the share of rows (0 to 1) with equal argmax; None if the output has no rows of two
            values or more.
        rows: the number of these rows; 0 if `top1` is None.
    """

    largest: float
    relative: float
    mean: float
    sqnr: float | None
    top1: float | None
    rows: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The fields as a dict for JSON, which has no infinity."""
        sqnr = None if self.sqnr is None or math.isinf(self.sqnr) else self.sqnr
        return {
            "largest": self.largest,
            "relative": self.relative,
            "mean": self.mean,
            "sqnr_db": sqnr,
            "top1": self.top1,
            "rows": self.rows,
        }


@dataclass(frozen=True, slots=True)
class VariantReport:
    """A file of a precision other than float32.

    Attributes:
        kind: float16, int8 or int8_static.
        outputs: name in the file -> its accuracy.
        compared: the inputs of the comparison: "held-out", "calibration" (nothing could be held
            out), "sample" or "random".
        batches: the number of input sets that were compared.
        calibrated: the number of input sets for calibration; 0 without one.
        float32_bytes: size of the float32 file.
        file_bytes: size of this one.
        notes: other changes of the file.
    """

    kind: str
    outputs: Mapping[str, OutputAccuracy]
    compared: str
    batches: int
    calibrated: int
    float32_bytes: int
    file_bytes: int
    notes: tuple[str, ...] = ()

    @property
    def largest_relative(self) -> float:
        """The largest difference from float32, divided by its output's largest value."""
        return max((one.relative for one in self.outputs.values()), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """The report as a dict for JSON."""
        return {
            "kind": self.kind,
            "outputs": {name: one.as_dict() for name, one in self.outputs.items()},
            "compared": self.compared,
            "batches": self.batches,
            "calibrated": self.calibrated,
            "float32_bytes": self.float32_bytes,
            "file_bytes": self.file_bytes,
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """The comparison as lines of text."""
        size = self.file_bytes / self.float32_bytes
        found = [
            f"{self.kind}: {self.file_bytes:,} bytes, {size:.0%} of float32",
            f"against float32, on {self.batches} sets of inputs ({self.compared}):",
        ]
        for name, one in self.outputs.items():
            line = (
                f"  {name}: largest difference {one.largest:.2e} "
                f"({one.relative:.2%} of the largest value), mean {one.mean:.2e}"
            )
            if one.sqnr is not None:
                line += f", SQNR {one.sqnr:.1f} dB"
            if one.top1 is not None:
                line += f", top-1 the same in {one.top1:.1%} of {one.rows} rows"
            found.append(line)
        return found + [f"  {note}" for note in self.notes]


def measure(
    kind: str, names: Sequence[str], feeds: Iterable[Mapping[str, Array]], exact: Any, small: Any
) -> dict[str, OutputAccuracy]:
    """Run both sessions on the same inputs, and measure the differences.

    Args:
        kind: the variant's kind, for errors.
        names: the outputs' names, in order.
        feeds: inputs by name.
        exact: the session of the float32 file.
        small: the session of the variant.

    Raises:
        FailedPreconditionError: the variant is not finite where float32 is, or shapes differ.
    """
    pairs: list[list[tuple[Array, Array]]] = [[] for _ in names]
    for given in feeds:
        wanted, got = run_session(exact, given), run_session(small, given)
        for name, found, a, b in zip(names, pairs, wanted, got, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise FailedPreconditionError(
                    f"export: as {kind} output {name!r} is {b.dtype}{list(b.shape)}, "
                    f"as float32 {a.dtype}{list(a.shape)}"
                )
            if a.dtype.kind == "f" and not np.array_equal(np.isfinite(a), np.isfinite(b)):
                raise FailedPreconditionError(
                    f"export: as {kind} output {name!r} is NaN or infinite where float32 is not "
                    "(intermediate values exceed its range)\n"
                    "  Try: int8_static=calibration.npz, or float32"
                )
            found.append((a, b))
    return {name: _accuracy(found) for name, found in zip(names, pairs, strict=True)}


def overflows(
    feeds: Sequence[Mapping[str, Array]], exact: Any, watching: Any, names: Sequence[str]
) -> tuple[str, ...]:
    """Notes on values beyond float16; on a PC, intermediate values are computed in float32.

    Args:
        feeds: inputs by name.
        exact: the session of the float32 file.
        watching: the session of a float16 file that also returns the intermediate values `names`.
        names: these values' names.

    Raises:
        FailedPreconditionError: an output itself exceeds float16.
    """
    found: set[str] = set()
    outputs = [one.name for one in exact.get_outputs()]
    for given in feeds:
        for name, array in zip(outputs, run_session(exact, given), strict=True):
            if array.dtype.kind == "f" and np.any(
                np.abs(array[np.isfinite(array)]) > FLOAT16_LARGEST
            ):
                raise FailedPreconditionError(
                    f"export: output {name!r} has values beyond ±{FLOAT16_LARGEST:.0f}, the "
                    "largest of float16\n  Try: --int8, or float32"
                )
        inner = run_session(watching, given)[-len(names) :] if names else []
        found.update(
            name for name, array in zip(names, inner, strict=True) if np.isinf(array).any()
        )
    first = [name for name in names if name in found][:3]
    if not first:
        return ()
    return (
        (
            f"{len(found)} intermediate values are infinite on processors that compute in float16, "
            f"among them {', '.join(map(repr, first))}"
        ),
    )


def _accuracy(pairs: Sequence[tuple[Array, Array]]) -> OutputAccuracy:
    exact, small = ([x.reshape(-1) for x in side] for side in zip(*pairs, strict=True))
    a, b = np.concatenate(exact), np.concatenate(small)
    if a.dtype == object:
        wrong = float(np.mean(a != b)) if a.size else 0.0
        return OutputAccuracy(float(wrong > 0), wrong, wrong, None, None)
    floats = a.dtype.kind == "f"
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a)
    a, b = a[finite], b[finite]
    gaps = np.abs(a - b)
    largest, size = float(gaps.max(initial=0)), float(np.abs(a).max(initial=0))
    sqnr = None
    if floats:
        noise, signal = float(np.sum(gaps**2)), float(np.sum(a**2))
        sqnr = math.inf if not noise else 10 * math.log10(signal / noise) if signal else -math.inf
    mean = float(gaps.mean()) if gaps.size else 0.0
    relative = largest / size if size else largest
    return OutputAccuracy(largest, relative, mean, sqnr, *_top1(pairs))


def _top1(pairs: Sequence[tuple[Array, Array]]) -> tuple[float | None, int]:
    """The share of rows with equal argmax, and the number of rows."""
    rows = [
        np.argmax(a, -1).reshape(-1) == np.argmax(b, -1).reshape(-1)
        for a, b in pairs
        if a.dtype.kind == "f" and a.ndim > 1 and a.shape[-1] > 1 and a.size
    ]
    if not rows:
        return None, 0
    agree = np.concatenate(rows)
    return float(np.mean(agree)), agree.size
