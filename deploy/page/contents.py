"""The content of a page: the model, its inputs and outputs, and cases to check it against."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinnace.deploy.page.runtimes import Runtime
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array

_LARGEST_CASE = 2_000_000  # elements of a recorded case


@dataclass(frozen=True, slots=True)
class Page:
    """The contents of a page.

    Attributes:
        title: the page's title.
        about: the line below the title.
        model: the name of the model file in the page's folder.
        content: the bytes of that file; None if it is written elsewhere.
        inputs: name -> spec.
        outputs: name -> spec.
        cases: inputs by name, with the model's outputs.
        tolerance: the allowed difference of outputs, relative to their largest value.
        labels: output -> the names of the entries of its last axis.
        pixels: input -> mean and standard deviation per channel: the model takes
            (pixel - mean) / standard deviation, for pixels of 0 to 255.
        steps: quantised output -> the allowed difference of its integers.
        quantised: quantised input -> scale and zero point.
        more: further values for the runtime's module.
    """

    title: str
    about: str
    model: str
    content: bytes | None
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    cases: Sequence[tuple[Mapping[str, Array], Mapping[str, Array]]]
    tolerance: float
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pixels: Mapping[str, tuple[Sequence[float], Sequence[float]]] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    quantised: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


def check_page(
    runtime: Runtime, inputs: Mapping[str, TensorSpec], outputs: Mapping[str, TensorSpec]
) -> None:
    """Refuse element types that a runtime has no tensors of in JavaScript.

    Raises:
        UnimplementedError: an input or output has such a type.
    """
    for role, specs in (("input", inputs), ("output", outputs)):
        for name, spec in specs.items():
            if not runtime.has(spec.dtype):
                raise UnimplementedError(
                    f"export: {role} {name!r} is {spec.dtype.name}, which {runtime.name} has no "
                    f"tensors of in JavaScript; a page cannot run it\n  Try: {runtime.remedy}"
                )


def description_of(page: Page, runtime: Runtime, version: str) -> dict[str, Any]:
    """The page's description as a dict for JSON, which its program reads."""
    small = [
        case
        for case in page.cases
        if sum(array.size for side in case for array in side.values()) <= _LARGEST_CASE
    ]
    return {
        "title": page.title,
        "about": page.about,
        "runtime": runtime.name,
        "version": version,
        "model": page.model,
        "inputs": [_input(name, spec, page) for name, spec in page.inputs.items()],
        "outputs": [_output(name, spec, page) for name, spec in page.outputs.items()],
        "tolerance": page.tolerance,
        "cases": [
            {"inputs": _tensors(inputs), "outputs": _tensors(outputs)} for inputs, outputs in small
        ],
        **page.more,
    }


def _input(name: str, spec: TensorSpec, page: Page) -> dict[str, Any]:
    found = _entry(name, spec)
    if name in page.pixels:
        mean, std = page.pixels[name]
        found["pixels"] = {"mean": list(mean), "std": list(std)}
    if name in page.quantised:
        found["scale"], found["zero"] = page.quantised[name]
    return found


def _output(name: str, spec: TensorSpec, page: Page) -> dict[str, Any]:
    found = _entry(name, spec)
    if name in page.labels:
        found["labels"] = list(page.labels[name])
    if name in page.steps:
        found["steps"] = page.steps[name]
    return found


def _entry(name: str, spec: TensorSpec) -> dict[str, Any]:
    return {"name": name, "dtype": spec.dtype.name, "shape": list(spec.shape)}


def _tensors(arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {name: tensor_json(array) for name, array in arrays.items()}


def tensor_json(array: Array) -> dict[str, Any]:
    """A tensor in the JSON form that tensors.js reads."""
    array = np.asarray(array)
    shape = list(array.shape)
    flat = array.reshape(-1)
    if array.dtype.kind in "OSU":
        return {"dtype": "string", "shape": shape, "data": [_text(one) for one in flat]}
    data: list[Any] = flat.tolist()
    if array.dtype.name in ("int64", "uint64"):
        data = [str(value) for value in data]
    elif array.dtype.kind == "b":
        data = [int(value) for value in data]
    elif array.dtype.kind == "f":
        data = [value if math.isfinite(value) else _word(value) for value in data]
    return {"dtype": array.dtype.name, "shape": shape, "data": data}


def _text(one: object) -> str:
    return one.decode() if isinstance(one, bytes) else str(one)


def _word(value: float) -> str:
    """A float in JavaScript's notation."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
