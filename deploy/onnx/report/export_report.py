"""ExportReport: the result of an export, with measurements."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pinnace.deploy.onnx.derived.accuracy import VariantReport
from pinnace.deploy.onnx.report.changes import Change
from pinnace.deploy.onnx.report.nodes import NodeReport
from pinnace.deploy.onnx.verification.compatibility import Verdict
from pinnace.framework.specs import TensorSpec


@dataclass(frozen=True, slots=True)
class ExportReport:
    """A successful export.

    Attributes:
        path: the file; None if none was written.
        signature: the signature's name.
        opset: the version of the operators.
        ir_version: the version of the format.
        inputs: name in the file -> spec.
        outputs: name in the file -> spec.
        output_names: name in the signature -> name in the file, if they differ.
        op_counts: ONNX operator -> number in the file.
        source_counts: op of the program -> number of conversions.
        casts: `"Conv float64 -> float32"` -> number of nodes computed in another type.
        dropped: effect without a counterpart in ONNX, which was left out -> number.
        improved: operators before and after the passes.
        nodes: the nodes of the file and their origins.
        runtimes: the runtimes that support the file, and why others do not.
        differences: output -> the largest |ONNX Runtime - pinnace|, and the same divided by the
            output's largest absolute value; empty if nothing was compared.
        batches: the number of input sets that were compared.
        compared: kind of inputs ("drawn", "sample", "no rows", "no elements", "zeros", "ones",
            "padded", "long", "zeros of integers", "ones of integers") -> number of input sets.
        empty: "no rows" and "no elements", if the model takes such inputs and the file behaves
            differently in ONNX Runtime -> its behaviour; other inputs are not affected.
        unconvertible: always empty, as ops that cannot be converted are an error.
        file_bytes: size of the file, with that of the weights' file.
        weight_bytes: size of the float32 weights.
        data_path: the weights' file; None if the weights are in the file itself.
        variant: the accuracy of a smaller form; None for float32. The differences above are those
            of the float32 file that it was made from.
        ort_path: the `.ort` file; None if none was written.
        channels_first: the inputs that the file takes channels first and the model channels last.
        drawn: outputs that depend on random numbers; they are compared by dtype and shape only, and
            are not among the differences.
        tokenizer: the program from the model's strings to `inputs`, for `tokenizer.js` and
            `tokenizer.py`; None if nothing was cut off.
        tokenizer_path: the file with the tokenizer.
    """

    path: str | None
    signature: str
    opset: int
    ir_version: int
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    output_names: Mapping[str, str]
    op_counts: Mapping[str, int]
    source_counts: Mapping[str, int]
    casts: Mapping[str, int]
    dropped: Mapping[str, int]
    improved: Change
    nodes: tuple[NodeReport, ...]
    runtimes: tuple[Verdict, ...]
    differences: Mapping[str, tuple[float, float]]
    batches: int
    file_bytes: int
    weight_bytes: int
    data_path: str | None = None
    compared: Mapping[str, int] = field(default_factory=dict)
    empty: Mapping[str, str] = field(default_factory=dict)
    unconvertible: Mapping[str, str] = field(default_factory=dict)
    variant: VariantReport | None = None
    ort_path: str | None = None
    channels_first: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    tokenizer: Mapping[str, Any] | None = field(default=None, repr=False)
    tokenizer_path: str | None = None
    _message: Any = field(default=None, repr=False, compare=False)

    @property
    def model(self) -> Any:
        """The `onnx.ModelProto` with its weights; for a written file, read from its path."""
        if self._message is not None or self.path is None:
            return self._message
        import onnx

        return onnx.load(self.path)

    @property
    def node_count(self) -> int:
        """The number of operators in the file."""
        return sum(self.op_counts.values())

    @property
    def transposes(self) -> int:
        """The number of remaining Transpose nodes."""
        return self.op_counts.get("Transpose", 0)

    @property
    def largest_difference(self) -> float | None:
        """The largest |ONNX Runtime - pinnace|, over all outputs; None if nothing was compared."""
        return max((one for one, _ in self.differences.values()), default=None)

    @property
    def largest_relative(self) -> float | None:
        """The largest difference of all outputs, each divided by its largest absolute value."""
        return max((one for _, one in self.differences.values()), default=None)

    def as_dict(self) -> dict[str, Any]:
        """The report without the model as a dict for JSON."""
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
            "compared": dict(self.compared),
            "empty": dict(self.empty),
            "differences": {name: list(pair) for name, pair in self.differences.items()},
            "file_bytes": self.file_bytes,
            "weight_bytes": self.weight_bytes,
            "data_path": self.data_path,
            "improved": self.improved.as_dict(),
            "runtimes": [one.as_dict() for one in self.runtimes],
            "nodes": [one.as_dict() for one in self.nodes],
            "variant": None if self.variant is None else self.variant.as_dict(),
            "ort_path": self.ort_path,
            "channels_first": list(self.channels_first),
            "drawn": list(self.drawn),
            "tokenizer": None if self.tokenizer is None else _outline(self.tokenizer),
            "tokenizer_path": self.tokenizer_path,
        }


def _outline(tokenizer: Mapping[str, Any]) -> dict[str, Any]:
    """A tokenizer's document without its vocabulary."""
    return {
        "inputs": dict(tokenizer["inputs"]),
        "outputs": dict(tokenizer["outputs"]),
        "steps": dict(sorted(Counter(step["op"] for step in tokenizer["steps"]).items())),
    }
