"""ExportReport: what was written, and what was measured on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pinnace.deploy.onnx.accuracy import VariantReport
from pinnace.framework.specs import TensorSpec


@dataclass(frozen=True, slots=True)
class ExportReport:
    """An export that succeeded.

    Attributes:
        path: of the file, None if none was asked for.
        model: the `onnx.ModelProto`.
        signature: which signature.
        opset: version of the operators.
        ir_version: version of the format.
        inputs: name in the file -> spec.
        outputs: name in the file -> spec.
        output_names: name in the signature -> name in the file, where they differ.
        op_counts: ONNX operator -> how often it stands in the file.
        source_counts: op of the program -> how often it was converted.
        transposes: how many Transpose nodes are left.
        casts: `"Conv float64 -> float32"` -> how often a type had to be computed in another.
        dropped: effects that ONNX has no counterpart of, and that were left out: op -> how often.
        largest_difference: the largest |ONNX Runtime - pinnace|, over all outputs; None if nothing
            was compared.
        largest_relative: the same, each output divided by its largest absolute value.
        batches: how many sets of inputs were compared.
        unconvertible: always empty: what cannot be converted is an error.
        file_bytes: size of the file.
        variant: what a smaller form of the file costs; None for float32. The differences above are
            those of float32, which it was made of.
        ort_path: of the `.ort` file, None if none was asked for.
    """

    path: str | None
    model: Any
    signature: str
    opset: int
    ir_version: int
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    output_names: Mapping[str, str]
    op_counts: Mapping[str, int]
    source_counts: Mapping[str, int]
    transposes: int
    casts: Mapping[str, int]
    dropped: Mapping[str, int]
    largest_difference: float | None
    largest_relative: float | None
    batches: int
    file_bytes: int
    unconvertible: Mapping[str, str] = field(default_factory=dict)
    variant: VariantReport | None = None
    ort_path: str | None = None

    @property
    def node_count(self) -> int:
        """How many operators the file has."""
        return sum(self.op_counts.values())

    def as_dict(self) -> dict[str, Any]:
        """Everything but the model, for JSON."""
        return {
            "path": self.path,
            "signature": self.signature,
            "opset": self.opset,
            "ir_version": self.ir_version,
            "inputs": {name: spec.text for name, spec in self.inputs.items()},
            "outputs": {name: spec.text for name, spec in self.outputs.items()},
            "output_names": dict(self.output_names),
            "node_count": self.node_count,
            "op_counts": dict(self.op_counts),
            "source_counts": dict(self.source_counts),
            "transposes": self.transposes,
            "casts": dict(self.casts),
            "dropped": dict(self.dropped),
            "largest_difference": self.largest_difference,
            "largest_relative": self.largest_relative,
            "batches": self.batches,
            "file_bytes": self.file_bytes,
            "variant": None if self.variant is None else self.variant.as_dict(),
            "ort_path": self.ort_path,
        }
