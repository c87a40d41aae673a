"""The outputs of an exported model's signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

DEFAULT = "serving_default"


@dataclass(frozen=True, slots=True)
class PredictOutput:
    """Outputs of a signature by name; one tensor is named `output`."""

    outputs: Any

    def named(self) -> dict[str, Any]:
        """Name -> tensor."""
        given = self.outputs
        return dict(given) if isinstance(given, dict) else {"output": given}


@dataclass(frozen=True, slots=True)
class ClassificationOutput:
    """Scores, classes or both.

    Raises:
        ValueError: neither.
    """

    scores: Any = None
    classes: Any = None

    def __post_init__(self) -> None:
        if self.scores is None and self.classes is None:
            raise ValueError("ClassificationOutput: scores or classes must be given")

    def named(self) -> dict[str, Any]:
        """Name -> tensor."""
        both = {"scores": self.scores, "classes": self.classes}
        return {name: x for name, x in both.items() if x is not None}


@dataclass(frozen=True, slots=True)
class RegressionOutput:
    """One value per example."""

    value: Any

    def named(self) -> dict[str, Any]:
        """Name -> tensor."""
        return {"outputs": self.value}


def signature_outputs(spec: Any) -> dict[str, dict[str, Any]]:
    """Signature -> output name -> tensor, of an EstimatorSpec.

    Raises:
        ValueError: several signatures and none of them the default.
        TypeError: an entry that is no output.
    """
    given = spec.export_outputs
    if given is None:
        return {DEFAULT: PredictOutput(spec.predictions).named()}
    for name, output in given.items():
        if not isinstance(output, (PredictOutput, ClassificationOutput, RegressionOutput)):
            raise TypeError(
                f"export_outputs[{name!r}] must be a PredictOutput, ClassificationOutput or "
                f"RegressionOutput, got {type(output).__name__}"
            )
    found = {name: output.named() for name, output in given.items()}
    if DEFAULT not in found:
        if len(found) != 1:
            raise ValueError(
                f"export_outputs: one of several must be named {DEFAULT!r}, got {sorted(found)}"
            )
        found[DEFAULT] = next(iter(found.values()))
    return found
