"""The report of an export to TensorFlow.js."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.specs import TensorSpec
from pinnace.storage.atomic import write_file

NOT_VERIFIED = (
    "not verified: Node with @tensorflow/tfjs was not found. Try: npm install @tensorflow/tfjs "
    "@tensorflow/tfjs-backend-wasm, or say where it is: --tfjs-runtime FOLDER"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TfjsReport:
    """The written files, and how well the model's results agree.

    Attributes:
        path: the folder.
        kind: "graph-model" or "layers-model".
        signature: its name; empty for layers.
        inputs: name -> spec, as in pinnace.
        outputs: name -> spec.
        output_nodes: name of an output -> its node.
        op_counts: op of TensorFlow.js -> number of nodes.
        source_counts: op of the model -> number of nodes.
        dropped: effect that was left out -> number of nodes.
        dtypes: "int64 -> int32" and the like -> number of tensors with that type.
        weight_bytes: the size of all shards.
        files: names of the files in the folder.
        quantize: the storage of floats; None for float32.
        checked: backend -> TensorFlow.js version that ran it; empty if it was not verified.
        lacking: backend -> the op without a kernel in it.
        differences: output -> the largest difference, and the same divided by its largest value.
        quantized_differences: the same, between quantised and original weights.
        batches: the number of input sets that were compared.
        compared: kind of inputs -> number of input sets.
        failed: kind of inputs that TensorFlow.js does not take -> its error.
        drawn: outputs that depend on random numbers, of which only shapes are compared.
        needs_async: whether branches and loops require `executeAsync`.
    """

    path: str
    kind: str
    signature: str
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    output_nodes: Mapping[str, str] = field(default_factory=dict)
    op_counts: Mapping[str, int] = field(default_factory=dict)
    source_counts: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    dtypes: Mapping[str, int] = field(default_factory=dict)
    weight_bytes: int = 0
    files: tuple[str, ...] = ()
    quantize: str | None = None
    checked: Mapping[str, str] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    differences: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    quantized_differences: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    batches: int = 0
    compared: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    drawn: tuple[str, ...] = ()
    needs_async: bool = False

    @property
    def verified(self) -> bool:
        """Whether TensorFlow.js ran it with the same results."""
        return bool(self.checked)

    @property
    def node_count(self) -> int:
        """The number of nodes of the graph, including those of functions."""
        return sum(self.op_counts.values())

    def as_dict(self) -> dict[str, Any]:
        """The report as a dict for JSON."""
        found = _fields(self)
        for name in ("inputs", "outputs"):
            specs: Mapping[str, TensorSpec] = getattr(self, name)
            found[name] = {key: spec.text for key, spec in specs.items()}
        return {**found, "verified": self.verified, "node_count": self.node_count}

    def lines(self) -> list[str]:
        """The report as lines of text."""
        what = f"{self.node_count} nodes, " if self.op_counts else ""
        stored = f", weights as {self.quantize}" if self.quantize else ""
        found = [f"{self.path}: {self.kind}, {what}{self.weight_bytes:,} bytes of weights{stored}"]
        if self.checked:
            version = next(iter(self.checked.values()))
            largest = max((relative for _, relative in self.differences.values()), default=0.0)
            found.append(
                f"checked in TensorFlow.js {version} ({', '.join(self.checked)}) on {self.batches} "
                f"sets of inputs: largest difference {largest:.1e} of an output's largest value"
            )
        else:
            found.append(NOT_VERIFIED)
        for backend, kernel in self.lacking.items():
            found.append(f"does not run on {backend}, which has no kernel {kernel}")
        for kind, reason in self.failed.items():
            found.append(f"TensorFlow.js does not take inputs of {kind}: {reason}")
        if self.quantized_differences:
            worst = max(share for _, share in self.quantized_differences.values())
            found.append(
                f"{self.quantize} weights move outputs by {worst:.2%} of the largest value"
            )
        if self.dtypes:
            found.append(f"computed in other types: {', '.join(self.dtypes)}")
        if self.drawn:
            found.append(f"drawn anew in each run, and compared by shape: {', '.join(self.drawn)}")
        if self.needs_async:
            found.append("it has branches or loops: run it by model.executeAsync(...)")
        return found


def _fields(report: TfjsReport) -> dict[str, Any]:
    """The report's fields, not copied."""
    return {name: getattr(report, name) for name in report.__dataclass_fields__}


def write_report(place: str | os.PathLike[str], report: TfjsReport) -> None:
    """Write a report as `.json` or `.md`.

    Raises:
        InvalidArgumentError: the path has another suffix.
    """
    ending = Path(place).suffix
    if ending == ".json":
        text = json.dumps(report.as_dict(), indent=2) + "\n"
    elif ending == ".md":
        text = "\n".join(f"- {line}" for line in report.lines()) + "\n"
    else:
        raise InvalidArgumentError(
            f"export: a report must end in .json or .md, got {os.fspath(place)!r}"
        )
    write_file(place, text.encode())
