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
    "not verified: Node with @tensorflow/tfjs is not there. Try: npm install @tensorflow/tfjs "
    "@tensorflow/tfjs-backend-wasm, or say where it is: --tfjs-runtime FOLDER"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TfjsReport:
    """The files written, and how well the model agrees.

    Attributes:
        path: the folder.
        kind: "graph-model" or "layers-model".
        signature: its key; empty for layers.
        inputs: name -> spec, as in pinnace.
        outputs: likewise.
        output_nodes: name of an output -> the node that gives it.
        op_counts: op of TensorFlow.js -> how many nodes.
        source_counts: op of the model -> how often.
        dropped: effects that were left out: op -> how often.
        dtypes: "int64 -> int32" and the like -> how many tensors are computed so.
        weight_bytes: of all shards.
        files: names in the folder.
        quantize: how floats are stored, None for float32.
        checked: backend -> version of TensorFlow.js that it ran in; empty if it was not verified.
        lacking: backend -> the kernel that it does not have.
        differences: output -> the largest difference, and the same relative to its largest value.
        quantized_differences: likewise, of quantised weights to those that were given.
        batches: on how many sets of inputs.
        compared: kind of inputs -> how many sets.
        failed: kind of inputs that TensorFlow.js does not take -> what it says.
        drawn: outputs that are other numbers in each run, compared by shape alone.
        needs_async: whether the model is run by `executeAsync`, for its branches and loops.
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
        """Whether TensorFlow.js ran it and gave the same."""
        return bool(self.checked)

    @property
    def node_count(self) -> int:
        """The number of nodes of the graph, functions included."""
        return sum(self.op_counts.values())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = _fields(self)
        for name in ("inputs", "outputs"):
            specs: Mapping[str, TensorSpec] = getattr(self, name)
            found[name] = {key: spec.text for key, spec in specs.items()}
        return {**found, "verified": self.verified, "node_count": self.node_count}

    def lines(self) -> list[str]:
        """For people."""
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
    """The fields, without copying what stands in them."""
    return {name: getattr(report, name) for name in report.__dataclass_fields__}


def write_report(place: str | os.PathLike[str], report: TfjsReport) -> None:
    """Write it as `.json` or `.md`.

    Raises:
        InvalidArgumentError: the ending is another.
    """
    ending = Path(place).suffix
    if ending == ".json":
        text = json.dumps(report.as_dict(), indent=2) + "\n"
    elif ending == ".md":
        text = "\n".join(f"- {line}" for line in report.lines()) + "\n"
    else:
        raise InvalidArgumentError(
            f"export: a report ends in .json or .md, got {os.fspath(place)!r}"
        )
    write_file(place, text.encode())
