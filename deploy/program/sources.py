"""The program to export, from a folder, a loaded object, a model or a function."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from pinnace.deploy.program.deadlines import ended_after
from pinnace.deploy.program.input_shapes import with_shapes
from pinnace.deploy.program.likely_shapes import likely_shape
from pinnace.framework import dtypes
from pinnace.framework.context import not_repeated
from pinnace.framework.errors import InvalidArgumentError, NotFoundError
from pinnace.framework.specs import TensorSpec
from pinnace.framework.storage import Resource
from pinnace.framework.tensor import Array
from pinnace.framework.variable import handle_of
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.graph import Graph, Value
from pinnace.proto.saved_model_pb2 import FingerprintDef
from pinnace.saved_model import LoadOptions, load, load_frozen_graph
from pinnace.saved_model.layout import OWN_NAMES

_LARGEST_FINGERPRINT = 1 << 16  # bytes; fingerprints have some dozens


class State(NamedTuple):
    """A variable that the function assigns.

    Attributes:
        place: its index among the function's captures.
        given: the input for its value before the run.
        left: the output of its value after the run.
    """

    place: int
    given: str
    left: str


@dataclass(frozen=True, slots=True)
class Program:
    """A concrete function whose inputs and outputs have names.

    Attributes:
        concrete: the function.
        signature: its key, or the function's own name.
        inputs: name -> spec, in the order of the graph's inputs.
        outputs: name -> spec, in the order of the graph's outputs.
        source: its origin, for the metadata.
        is_ours: whether it was loaded for the export only, so that nothing else runs it or changes
            its weights.
        facts: more about its origin, for the metadata.
        states: variables that are inputs and outputs; these come last, in this order.
        limit_s: the longest time for one run, in seconds.
    """

    concrete: ConcreteFunction
    signature: str
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    source: str
    is_ours: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    states: tuple[State, ...] = ()
    limit_s: float = 60.0

    @property
    def weights(self) -> list[Array]:
        """The values of variables and constants that the function captures."""
        found = []
        for tensor in self.concrete.captured:
            array = np.asarray(tensor._array)
            if tensor.dtype is dtypes.resource:
                resource: Any = array[()]
                if not hasattr(resource, "read"):
                    continue
                array = np.asarray(resource.read())
            found.append(array)
        return found

    def run(
        self, feeds: Sequence[Array], limit_s: float | None = None, *, moved: bool = False
    ) -> tuple[Array, ...]:
        """Run the program in pinnace, and return its outputs.

        Args:
            feeds: the inputs, in order.
            limit_s: the longest time; None takes the program's own limit.
            moved: whether to move each weight by one unit in the last place, which shows how
                much the model magnifies rounding. The weights themselves are not changed.

        Raises:
            DeadlineExceededError: the run took longer.
            OpError: the model does not take these inputs.
        """
        with ended_after(self.limit_s if limit_s is None else limit_s):
            return self._run(feeds, moved=moved)

    def _run(self, feeds: Sequence[Array], *, moved: bool) -> tuple[Array, ...]:
        captured = [np.asarray(tensor._array) for tensor in self.concrete.captured]
        if moved:
            captured = [_moved(array) for array in captured]
        count = len(feeds) - len(self.states)
        kept = []
        for state, value in zip(self.states, feeds[count:], strict=True):
            spec = self.inputs[state.given]
            resource = Resource(spec.dtype, spec.shape, state.given)
            resource.write(value)
            captured[state.place] = np.asarray(handle_of(resource)._array)
            kept.append(resource)
        with not_repeated():  # each set of shapes runs only once, or a few times
            results = self.concrete.run([*feeds[:count], *captured])
        return (*results, *(resource.read() for resource in kept))


def next_numbers(x: Array) -> Array:
    """The next representable numbers of a float type; other types unchanged."""
    return np.nextafter(x, np.array(np.inf, x.dtype)) if x.dtype.kind == "f" else x


def _moved(captured: Array) -> Array:
    resource: Any = captured[()] if captured.dtype == object and captured.ndim == 0 else None
    if not isinstance(resource, Resource):
        return next_numbers(captured)
    value = np.asarray(resource.read())
    copy = Resource(resource.dtype, resource.shape, resource.name)
    copy.write(next_numbers(value))
    return np.asarray(handle_of(copy)._array)


def find_program(
    model: object,
    signature: str,
    tags: Sequence[str] | None = None,
    shapes: Mapping[str, Any] | None = None,
) -> Program:
    """Find the program to export.

    Args:
        model: the folder of a SavedModel, the file of a frozen graph, the result of
            `saved_model.load`, a Keras model, or a ConcreteFunction.
        signature: its name if there are several; `serving_default` stands for the only one,
            whatever its name.
        tags: for a folder, the tags of the graph.
        shapes: shapes of inputs by name, if the model leaves them unknown.

    Raises:
        NotFoundError: the model has no such signature.
        InvalidArgumentError: a shape is incompatible, or the rank of an input is unknown.
        TypeError: the object cannot be exported.
    """
    known = shapes or {}
    if isinstance(model, (str, os.PathLike)):
        folder = os.fspath(model)
        if os.path.isfile(folder):  # noqa: PTH113 (given by the caller as any path-like)
            return replace(
                _program(load_frozen_graph(folder), signature, _title(folder), known), is_ours=True
            )
        # Read into memory, so that later changes of the files do not affect the export.
        loaded = load(folder, tags, LoadOptions(map_weights=False))
        owner = f"SavedModel {folder!r}"
        program = _named(loaded.signatures, signature, _title(folder), owner, known)
        return replace(program, is_ours=True, facts=_facts(loaded, Path(folder)))
    if isinstance(model, ConcreteFunction):
        name = model.name if signature == "serving_default" else signature
        return _program(model, name, "function", known)
    signatures = getattr(model, "signatures", None)
    if isinstance(signatures, Mapping) and signatures:
        return _named(signatures, signature, type(model).__name__, "the object", known)
    defaults = getattr(model, "_default_signatures", None)
    if callable(defaults):
        name = type(model).__name__
        return _named(defaults(), signature, name, name, known)
    message = (
        f"export: model must be a SavedModel's folder, a loaded SavedModel, a Keras model "
        f"or a ConcreteFunction, "
        f"got {type(model).__name__}"
    )
    if callable(getattr(model, "get_concrete_function", None)):
        message += "\n  Try: export(f.get_concrete_function(TensorSpec(...)), ...)"
    raise TypeError(message)


def refuse_own_files(model: object, path: str | os.PathLike[str] | None) -> None:
    """Refuse an output path that is a file of the model.

    Raises:
        InvalidArgumentError: the path is one of its files.
    """
    if path is None or not isinstance(model, (str, os.PathLike)):
        return
    folder, target = Path(os.path.realpath(model)), Path(os.path.realpath(path))
    if folder in target.parents and target.relative_to(folder).parts[0] in OWN_NAMES:
        raise InvalidArgumentError(
            f"export: {os.fspath(path)} is a part of the model itself; give another path"
        )


def _facts(loaded: object, folder: Path) -> dict[str, str]:
    """Metadata of a SavedModel: its producer and its fingerprint."""
    found = {}
    version = getattr(loaded, "tensorflow_version", "")
    if version:
        found["source_tensorflow_version"] = str(version)
    print_path = folder / "fingerprint.pb"
    if print_path.is_file():
        content = print_path.read_bytes()[:_LARGEST_FINGERPRINT]
        try:
            fingerprint = FingerprintDef.FromString(content)
        except DecodeError:
            return found
        if fingerprint.saved_model_checksum:
            found["source_saved_model_checksum"] = f"{fingerprint.saved_model_checksum:016x}"
    return found


def _title(folder: str) -> str:
    """The folder's name; for a numbered version, the name of the folder above."""
    path = Path(folder).resolve()
    return f"{path.parent.name}/{path.name}" if path.name.isdigit() else path.name


def _named(
    signatures: Mapping[str, Any], key: str, source: str, owner: str, shapes: Mapping[str, Any]
) -> Program:
    if key == "serving_default" and key not in signatures and len(signatures) == 1:
        key = next(iter(signatures))
    if key not in signatures:
        known = ", ".join(repr(name) for name in sorted(signatures)) or "none"
        message = f"export: {owner} has no signature {key!r}\n  signatures: {known}"
        if signatures:
            message += f"\n  Try: signature={min(signatures)!r}"
        raise NotFoundError(message)
    return _program(signatures[key], key, source, shapes)


def _program(
    concrete: ConcreteFunction, signature: str, source: str, shapes: Mapping[str, Any]
) -> Program:
    concrete = with_shapes(concrete, shapes)
    graph = concrete.graph
    count = len(graph.inputs) - len(concrete.captured)
    if concrete.by_name:
        names = list(concrete.array_inputs)
        results = list(concrete.array_outputs)
    else:
        names = list(graph.input_names[:count])
        results = list(graph.output_names)
    if len(names) != count or len(results) != len(graph.outputs):
        raise InvalidArgumentError(
            f"export: {concrete.name!r} has {count} inputs and {len(graph.outputs)} outputs, "
            f"but names for {len(names)} and {len(results)}"
        )
    inputs = {
        name: _input_spec(name, value, graph)
        for name, value in zip(names, graph.inputs, strict=False)
    }
    outputs = {name: value.spec for name, value in zip(results, graph.outputs, strict=True)}
    if not outputs:
        raise InvalidArgumentError(f"export: {concrete.name!r} has no outputs")
    return Program(concrete, signature, inputs, outputs, source)


def _input_spec(name: str, value: Value, graph: Graph) -> TensorSpec:
    spec = value.spec
    if spec.shape.rank is None:
        sizes = likely_shape(graph, value)
        told = [None, 3] if sizes is None else sizes
        line = ",".join("?" if size is None else str(size) for size in told)
        why = (
            "None for each unknown size"
            if sizes is None
            else "which the op behind it needs, None for each size that may be any"
        )
        raise InvalidArgumentError(
            f"export: the rank of input {name!r} is unknown ({spec.text}); an exported file must "
            f"state the number of its axes\n"
            f"  Try: export(..., shapes={{{name!r}: {told}}}), {why}; "
            f"at the command line --input {name}={line}"
        )
    return spec
