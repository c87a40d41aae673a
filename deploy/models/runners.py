"""Models of several formats as functions from arrays to arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pinnace.deploy.models.finding import find_model, unknown_name
from pinnace.deploy.models.kinds import FROZEN, ONNX, SAVED_MODEL
from pinnace.framework.dtypes import as_dtype
from pinnace.framework.errors import InvalidArgumentError
from pinnace.framework.extras import install_command
from pinnace.framework.shapes import Shape
from pinnace.framework.specs import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from pinnace.framework.tensor import Array

    Run = Callable[[Mapping[str, Array]], dict[str, Array]]

DEFAULT_SIGNATURE = "serving_default"
# ONNX's names of types that differ from ours.
_ONNX_TYPES = {"float": "float32", "double": "float64"}


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Runner:
    """One signature of a model, ready to run.

    Attributes:
        path: the model.
        signature: its name; empty for ONNX and frozen graphs, which have only one.
        inputs: specs by name.
        outputs: specs by name; None for outputs that are no tensors, which ONNX has.
        run: arrays by name -> arrays by name.
    """

    path: Path
    signature: str
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec | None]
    run: Run


def load_runner(
    path: Path,
    signature: str | None = None,
    tags: list[str] | None = None,
    *,
    allow_io: bool = False,
    given: Iterable[str] = (),
    wanted: Iterable[str] | None = None,
) -> Runner:
    """Load a signature of the model at a path.

    Args:
        path: a SavedModel, a frozen graph or a file.onnx.
        signature: its name; None for `serving_default` or the only one.
        tags: the tags of the graph, if there are several.
        allow_io: whether the model's ops may access files; only for trusted models.
        given: for a frozen graph, the tensors that are inputs.
        wanted: for a frozen graph, the tensors that are outputs; None takes the last ones.

    Raises:
        NotFoundError: there is no model.
        InvalidArgumentError: there is no such signature.
    """
    found, kind = find_model(path, (SAVED_MODEL, ONNX, FROZEN))
    if kind == FROZEN:
        _refuse_signature(found, "a frozen graph", signature, tags)
        return _frozen_runner(found, given, wanted, allow_io=allow_io)
    if kind == ONNX:
        return _onnx_runner(found, signature)
    return _saved_model_runner(found, signature, tags, allow_io=allow_io)


def _saved_model_runner(
    path: Path, signature: str | None, tags: list[str] | None, *, allow_io: bool
) -> Runner:
    from pinnace.saved_model.options import LoadOptions
    from pinnace.saved_model.reading import load

    signatures = load(path, tags, LoadOptions(allow_io=allow_io, map_weights=False)).signatures
    name = signature or DEFAULT_SIGNATURE
    if signature is None and name not in signatures and len(signatures) == 1:
        name = next(iter(signatures))
    if name not in signatures:
        raise unknown_name("signature", name, signatures, path)
    function = signatures[name]
    inputs: dict[str, TensorSpec] = function.array_inputs
    return Runner(path, name, dict(inputs), dict(function.array_outputs), function.run_arrays)


def _frozen_runner(
    path: Path, given: Iterable[str], wanted: Iterable[str] | None, *, allow_io: bool
) -> Runner:
    from pinnace.saved_model.frozen_graphs import load_frozen_graph, placeholders
    from pinnace.saved_model.options import LoadOptions

    outputs = None if wanted is None else list(wanted)
    inputs = placeholders(path, outputs, given)
    function = load_frozen_graph(path, inputs, outputs, LoadOptions(allow_io=allow_io))
    specs: dict[str, TensorSpec] = function.structured_input_signature[1]
    return Runner(path, "", dict(specs), dict(function.array_outputs), function.run_arrays)


def _refuse_signature(
    path: Path, kind: str, signature: str | None, tags: list[str] | None = None
) -> None:
    for name, option, value in (("signature", "signature", signature), ("tag", "tags", tags)):
        if value is not None:
            raise InvalidArgumentError(f"{path}: {kind} has no {name}s; leave --{option} out")


def _onnx_runner(path: Path, signature: str | None) -> Runner:
    _refuse_signature(path, "an ONNX file", signature)
    try:
        import onnxruntime
    except ImportError:
        raise InvalidArgumentError(
            f"{path} needs ONNX Runtime\n  Try: {install_command('onnx')}"
        ) from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # ONNX Runtime's errors have no common base class
        raise InvalidArgumentError(f"{path}: ONNX Runtime refuses it: {error}") from None
    inputs = {one.name: _onnx_spec(one, path) for one in session.get_inputs()}
    outputs = {
        one.name: _onnx_spec(one, path) if one.type.startswith("tensor(") else None
        for one in session.get_outputs()
    }

    def run(arrays: Mapping[str, Array]) -> dict[str, Array]:
        try:
            # ONNX Runtime takes strings as str.
            found = session.run(list(outputs), {k: _as_text(v) for k, v in arrays.items()})
        except Exception as error:
            raise InvalidArgumentError(f"{path}: ONNX Runtime: {error}") from None
        return {name: np.asarray(value) for name, value in zip(outputs, found, strict=True)}

    return Runner(path, "", inputs, outputs, run)


def _onnx_spec(one: object, path: Path) -> TensorSpec:
    kind, shape = getattr(one, "type", ""), getattr(one, "shape", None)
    if not kind.startswith("tensor("):
        raise InvalidArgumentError(f"{path}: input {getattr(one, 'name', '')!r} is a {kind}")
    name = kind.removeprefix("tensor(").removesuffix(")")
    sizes = None if shape is None else [n if isinstance(n, int) else None for n in shape]
    return TensorSpec.of(Shape(sizes), as_dtype(_ONNX_TYPES.get(name, name)))


def _as_text(array: Array) -> Array:
    if array.dtype != object:
        return array
    flat = [one.decode() if isinstance(one, bytes) else one for one in array.reshape(-1).tolist()]
    result = np.empty(array.shape, object)
    result.reshape(-1)[:] = flat
    return result
