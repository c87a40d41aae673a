"""What a page shows: the model, its inputs and outputs, and cases to check it against."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pinnace.deploy.page.runtimes import Runtime
from pinnace.framework.errors import UnimplementedError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array

_LARGEST_CASE = 2_000_000  # values of a recorded case


@dataclass(frozen=True, slots=True)
class Page:
    """The contents of a page.

    Attributes:
        title: of it.
        about: a line below it.
        model: the name of the model's file in the page's folder.
        content: bytes of that file; None if it is written by others.
        inputs: name -> spec.
        outputs: name -> spec.
        cases: inputs by name, and the outputs that the model gives.
        tolerance: how far outputs may be from these, relative to their largest value.
        labels: output -> the names of its last axis' entries.
        pixels: input -> mean and scale of each channel: pixels of 0 to 255 less the one, divided by
            the other, are what the model takes.
        steps: output of whole numbers that stand for real ones -> by how many it may differ.
        quantised: input of whole numbers that stand for real ones -> scale and zero point.
        more: what the runtime's module wants to know.
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
    """Refuse dtypes that a runtime has no tensors of in JavaScript.

    Raises:
        UnimplementedError: an input or output has one.
    """
    for role, specs in (("input", inputs), ("output", outputs)):
        for name, spec in specs.items():
            if not runtime.has(spec.dtype):
                raise UnimplementedError(
                    f"export: {role} {name!r} is {spec.dtype.name}, which {runtime.name} has no "
                    f"tensors of in JavaScript; a page cannot run it\n  Try: {runtime.remedy}"
                )


def description_of(page: Page, runtime: Runtime, version: str) -> dict[str, Any]:
    """The page as its program reads it."""
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
    """A tensor as the page's tensors.js reads it."""
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
    """In JavaScript's notation."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
