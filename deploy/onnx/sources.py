"""What is to be exported, be it a folder, a loaded object, a model or a function: a Program."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array
from pinnace.functions.concrete import ConcreteFunction
from pinnace.saved_model import load


@dataclass(frozen=True, slots=True)
class Program:
    """A concrete function whose inputs and outputs have names.

    Attributes:
        concrete: the function.
        signature: its key, or its own name.
        inputs: name -> spec, in the order of the graph's inputs.
        outputs: name -> spec, in the order of the graph's outputs.
        source: where it comes from, for the metadata.
    """

    concrete: ConcreteFunction
    signature: str
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    source: str

    def run(self, feeds: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs for these inputs, as pinnace computes them."""
        captured = [np.asarray(tensor._array) for tensor in self.concrete.captured]
        return self.concrete.run([*feeds, *captured])


def find_program(model: object, signature: str) -> Program:
    """The program to export.

    Args:
        model: the folder of a SavedModel, what `saved_model.load` gave, a Keras model, or a
            ConcreteFunction.
        signature: which one, where there are several.

    Raises:
        NotFoundError: the model has no such signature.
        TypeError: the object cannot be exported.
    """
    if isinstance(model, (str, os.PathLike)):
        folder = os.fspath(model)
        loaded = load(folder)
        return _named(loaded.signatures, signature, _title(folder), f"SavedModel {folder!r}")
    if isinstance(model, ConcreteFunction):
        return _program(
            model, model.name if signature == "serving_default" else signature, "function"
        )
    signatures = getattr(model, "signatures", None)
    if isinstance(signatures, Mapping) and signatures:
        return _named(signatures, signature, type(model).__name__, "the object")
    defaults = getattr(model, "_default_signatures", None)
    if callable(defaults):
        return _named(defaults(), signature, type(model).__name__, f"{type(model).__name__}")
    message = (
        f"export: model must be a SavedModel's folder, a loaded SavedModel, a Keras model "
        f"or a ConcreteFunction, "
        f"got {type(model).__name__}"
    )
    if callable(getattr(model, "get_concrete_function", None)):
        message += "\n  Try: export(f.get_concrete_function(TensorSpec(...)), ...)"
    raise TypeError(message)


def _title(folder: str) -> str:
    """The folder's name; of a version, which is a number, the model's name before it."""
    path = Path(folder).resolve()
    return f"{path.parent.name}/{path.name}" if path.name.isdigit() else path.name


def _named(signatures: Mapping[str, Any], key: str, source: str, owner: str) -> Program:
    if key not in signatures:
        known = ", ".join(repr(name) for name in sorted(signatures)) or "none"
        message = f"export: {owner} has no signature {key!r}\n  signatures: {known}"
        raise NotFoundError(message)
    return _program(signatures[key], key, source)


def _program(concrete: ConcreteFunction, signature: str, source: str) -> Program:
    graph = concrete.graph
    count = len(graph.inputs) - len(concrete.captured)
    if concrete.by_name:
        names = sorted(concrete.structured_input_signature[1])
        results = sorted(concrete.structured_outputs)
    else:
        names = graph.input_names[:count]
        results = graph.output_names
    if len(names) != count or len(results) != len(graph.outputs):
        message = (
            f"export: {concrete.name!r} has {count} inputs and {len(graph.outputs)} outputs, "
            f"but names for {len(names)} and {len(results)}"
        )
        raise InvalidArgumentError(message)
    inputs = {
        name: _input_spec(name, value.spec)
        for name, value in zip(names, graph.inputs, strict=False)
    }
    outputs = {name: value.spec for name, value in zip(results, graph.outputs, strict=True)}
    if not outputs:
        message = f"export: {concrete.name!r} has no outputs"
        raise InvalidArgumentError(message)
    return Program(concrete, signature, inputs, outputs, source)


def _input_spec(name: str, spec: TensorSpec) -> TensorSpec:
    if spec.shape.rank is None:
        message = (
            f"export: the rank of input {name!r} is unknown ({spec.text}); ONNX operators need "
            f"to know how many axes there are\n"
            "  Try: give the signature a TensorSpec with a rank, None for each unknown "
            "size: TensorSpec([None, None], ...)"
        )
        raise InvalidArgumentError(message)
    return spec
