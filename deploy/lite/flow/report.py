"""LiteReport: the result of an export, with measurements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pinnace.framework.specs import TensorSpec


@dataclass(frozen=True, slots=True)
class Precision:
    """The error of a quantised or float16 file.

    Attributes:
        kind: "float16", "int8", "int8_static" or "int16_static".
        bytes_before: size of the float32 file.
        relative: output -> the largest difference from float32, relative to its largest value.
        agreement: output -> the share of rows with the same argmax; only for outputs with rows.
        rows: the number of rows that were compared.
        stayed: operator -> the reason why it stays float32, and how many of them.
    """

    kind: str
    bytes_before: int
    relative: Mapping[str, float]
    agreement: Mapping[str, float]
    rows: int
    stayed: Mapping[str, tuple[str, int]]

    @property
    def largest_relative(self) -> float:
        """The largest relative difference of all outputs."""
        return max(self.relative.values(), default=0.0)


@dataclass(frozen=True, slots=True)
class LiteReport:
    """A successful export.

    Attributes:
        path: the file; None if none was written.
        signatures: their names.
        inputs: name -> spec, for the first signature.
        outputs: name -> spec, for the first signature.
        op_counts: built-in operator -> number in the file.
        source_counts: op of the program -> number of conversions.
        dropped: effect without a counterpart in LiteRT, which was left out -> number.
        differences: output -> the largest |LiteRT - pinnace|, and the same divided by the output's
            largest absolute value; empty if nothing was compared.
        batches: the number of input sets that were compared.
        compared: kind of inputs -> number of input sets.
        file_bytes: size of the file.
        precision: the error of a smaller form; None for float32.
        loops: node of an LSTM loop -> why `fused_lstm` did not make it one operator.
        metadata: the file's metadata; None if it has none.
        files: names of its associated files.
        flex: ops that remain TensorFlow ops; apps need the Select TF ops library for them.
        content: the bytes of the file if no path was given.
    """

    path: str | None
    signatures: tuple[str, ...]
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    op_counts: Mapping[str, int]
    source_counts: Mapping[str, int]
    dropped: Mapping[str, int]
    differences: Mapping[str, tuple[float, float]]
    batches: int
    compared: Mapping[str, int]
    file_bytes: int
    precision: Precision | None = None
    flex: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    files: tuple[str, ...] = ()
    loops: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = field(default=None, repr=False)

    @property
    def operator_count(self) -> int:
        """The number of operators."""
        return sum(self.op_counts.values())

    @property
    def largest_difference(self) -> float | None:
        """The largest absolute difference of all outputs; None if nothing was compared."""
        return max((gap for gap, _ in self.differences.values()), default=None)

    def as_dict(self) -> dict[str, Any]:
        """The report as a dict for JSON."""
        found = {
            name: getattr(self, name) for name in self.__slots__ if name not in {"content", "flex"}
        }
        found["inputs"] = {name: spec.text for name, spec in self.inputs.items()}
        found["outputs"] = {name: spec.text for name, spec in self.outputs.items()}
        found["signatures"] = list(self.signatures)
        found["flex"] = list(self.flex)
        found["files"] = list(self.files)
        if self.precision is not None:
            found["precision"] = {
                name: getattr(self.precision, name) for name in self.precision.__slots__
            }
        return found

    def lines(self) -> Iterator[str]:
        """Yield the lines of a summary for readers."""
        name = self.path or "the file"
        how = f"{self.operator_count} operators, {_size(self.file_bytes)}"
        if not self.batches:
            yield f"{name}: {how}, not run"
        elif self.precision is None:
            yield (
                f"{name}: {how}, checked against LiteRT's interpreter, largest difference "
                f"{self.largest_difference or 0.0:.1e}"
            )
        else:
            one = self.precision
            yield (
                f"{name}: {how} instead of {_size(one.bytes_before)} as {one.kind}; differs from "
                f"float32 by {one.largest_relative:.2%} of an output's largest value"
            )
            for output, share in one.agreement.items():
                yield f"  {output}: the same largest entry in {share:.1%} of {one.rows} rows"
            for kind, (reason, count) in one.stayed.items():
                yield f"  {count} {kind} in float32: {reason}"
        for node, reason in self.loops.items():
            yield f"LSTM {node} is a loop, not one operator: {reason}"
        if self.metadata is not None:
            inside = f", and {', '.join(self.files)}" if self.files else ""
            yield f"it has metadata{inside}; pinnace show tells them"
        if self.flex:
            yield (
                f"TensorFlow's own ops: {', '.join(self.flex)}; an app needs the library with "
                "Select TF ops, and nothing here could run the file"
            )


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"
