"""Recorded calls of a SavedModel (`io.npz`): running them, and the error of their results."""

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from pinnace.framework import structure
from pinnace.framework.convert import convert_to_tensor
from pinnace.framework.tensor import Tensor

_KEY = re.compile(r"(\d+)/(.+?)/(in|out)/(.+)")


def recorded_calls(path: Path) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(signature or @method, inputs, outputs) of each call, in order."""
    calls: dict[int, tuple[str, dict[str, Any], dict[str, Any]]] = {}
    with np.load(path, allow_pickle=False) as file:
        for key in file.files:
            match = _KEY.fullmatch(key)
            assert match is not None, key
            number, signature, side, name = match.groups()
            value: Any = file[key]
            if name.endswith(":bfloat16"):
                name, value = name.removesuffix(":bfloat16"), value.view(ml_dtypes.bfloat16)
            elif name.endswith(":py"):
                name, value = name.removesuffix(":py"), value.item()
            elif value.dtype.kind == "S":
                value = value.astype(object)
            call = calls.setdefault(int(number), (signature, {}, {}))
            (call[1] if side == "in" else call[2])[name] = value
    return [calls[number] for number in sorted(calls)]


def largest_difference(model: Any, path: Path) -> float:
    """The largest difference from the recorded results; dtypes and shapes must agree."""
    worst = 0.0
    for signature, inputs, outputs in recorded_calls(path):
        found = _call(model, signature, inputs)
        for name, wanted in outputs.items():
            got = _array(found[name])
            assert got.dtype == wanted.dtype, (signature, name, got.dtype)
            assert got.shape == wanted.shape, (signature, name, got.shape)
            if wanted.dtype == object or wanted.dtype.kind in "biu":
                assert (got == wanted).all(), (signature, name)
            elif got.size:
                wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
                gap = np.abs(got.astype(wide) - wanted.astype(wide))
                worst = max(worst, float(gap.max()))
    return worst


def _call(model: Any, signature: str, inputs: dict[str, Any]) -> dict[str, Any]:
    given = {
        name: convert_to_tensor(value) if isinstance(value, np.ndarray) else value
        for name, value in inputs.items()
    }
    if signature.startswith("@"):
        results = structure.flatten(getattr(model, signature[1:])(**given))
        return {str(index): result for index, result in enumerate(results)}
    function = model.signatures[signature]
    answer: dict[str, Any] = {}
    for name, value in function(**_whole(function, given)).items():
        parts = structure.flatten(value, expand_composites=True)
        names = [name] if len(parts) == 1 else [f"{name}|{index}" for index in range(len(parts))]
        answer.update(zip(names, parts, strict=True))
    return answer


def _whole(function: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The inputs, with components that are recorded by number combined to one value."""
    specs = function.structured_input_signature[1]
    whole = {name: value for name, value in given.items() if "|" not in name}
    for name in {one.rpartition("|")[0] for one in given if "|" in one}:
        parts = [
            given[f"{name}|{n}"] for n in range(sum(one.startswith(f"{name}|") for one in given))
        ]
        whole[name] = structure.pack_sequence_as(specs[name], parts, expand_composites=True)
    return whole


def _array(value: Any) -> Any:
    return np.asarray(value._array) if isinstance(value, Tensor) else np.asarray(value)
