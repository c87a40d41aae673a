""".tflite files as functions, and as SavedModels."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinnace.deploy.lite.metadata.keeping import keep
from pinnace.deploy.lite.metadata.packing import unpacked
from pinnace.deploy.lite.reading import operators as _operators
from pinnace.deploy.lite.reading.content import read_content
from pinnace.deploy.lite.reading.opening import open_batches
from pinnace.deploy.lite.reading.signatures import Naming
from pinnace.deploy.lite.reading.state import State
from pinnace.deploy.lite.reading.translation import Translation
from pinnace.framework import dtypes
from pinnace.framework.context import init_scope
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    OpError,
    UnimplementedError,
)
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Tensor
from pinnace.functions.function import function
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.constants import PREDICT_METHOD_NAME, SAVED_MODEL_FILENAME_PB
from pinnace.saved_model.fingerprints import write_fingerprint
from pinnace.saved_model.writing import save
from pinnace.storage.atomic import write_file
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pinnace.deploy.lite.files.parsing import Content
    from pinnace.deploy.lite.ir.model import Model, Signature
    from pinnace.deploy.lite.ir.model import Tensor as LiteTensor
    from pinnace.framework.shapes import Shape
    from pinnace.functions.concrete import ConcreteFunction

__all__ = ["functions_of", "load", "write_saved_model", "write_to_serve"]

_ = _operators  # importing it registers the readers
# A GraphDef must be smaller than 2 GiB.
_MOST_IN_GRAPH = 1 << 30
# The limit of all functions' constants, as a multiple of the file's size and an allowance.
_TIMES, _SLACK = 8, 1 << 22


def load(path: str | os.PathLike[str]) -> dict[str, ConcreteFunction]:
    """The signatures of a .tflite file as functions, with its weights as constants.

    Args:
        path: the file.

    Returns:
        Concrete functions by signature name, `serving_default` for a file without signatures. They
        take and return tensors by name. Quantised inputs and outputs are the file's integers.

    Raises:
        NotFoundError: the file does not exist.
        InvalidArgumentError: the file is not a .tflite file.
        DataLossError: the file is damaged.
        UnimplementedError: the file has unsupported operators; the message names one.

    Example:
        >>> from pathlib import Path
        >>> import pinnace as tf
        >>> from pinnace.deploy import lite
        >>> dense = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(2)])
        >>> report = lite.export(dense, "dense.tflite", verify=False)
        >>> functions = lite.load("dense.tflite")
        >>> functions["serving_default"](tf.ones([1, 3])).keys()
        dict_keys(['output_0'])
    """
    return functions_of(_content_of(path), os.fspath(path))[0]


def write_saved_model(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Convert a .tflite file to a SavedModel.

    Args:
        path: the file.
        folder: the folder to write, which must not exist.

    Raises:
        OpError: see `load`.
    """
    where, data = os.fspath(path), _content_of(path)
    functions, module = functions_of(data, where)
    save(module, folder, functions)
    signatures = read_content(data, where).signatures
    _keep_methods(Path(folder), signatures)
    metadata = unpacked(data, where)
    if metadata is not None:
        first = signatures[0]
        keep(
            Path(folder),
            metadata,
            _names(first.inputs, first.subgraph.inputs),
            _names(first.outputs, first.subgraph.outputs),
        )


def _names(named: Mapping[str, LiteTensor], tensors: Sequence[LiteTensor]) -> list[str]:
    """A signature's names in the order of its subgraph; "" for tensors that it does not name."""
    names = {id(tensor): name for name, tensor in named.items()}
    return [names.get(id(tensor), "") for tensor in tensors]


def write_to_serve(
    path: str | os.PathLike[str], folder: str | os.PathLike[str], naming: Naming = Naming.OWN
) -> list[Signature]:
    """Convert a .tflite file to a SavedModel for a server, with variable batch size if possible.

    Users resize an interpreter's inputs, so the batch size in a file is usually arbitrary.

    Args:
        path: the file.
        folder: the folder to write.
        naming: the rule for signatures and names.

    Returns:
        The signatures, with the shapes in the file.

    Raises:
        OpError: see `load`.
    """
    where, data = os.fspath(path), _content_of(path)
    try:
        functions, module = functions_of(data, where, naming, any_batch=True)
    except OpError:  # an operator needs the fixed sizes
        functions, module = functions_of(data, where, naming)
    save(module, folder, functions)
    signatures = read_content(data, where, naming).signatures
    _keep_methods(Path(folder), signatures)
    return signatures


def _keep_methods(folder: Path, signatures: list[Signature]) -> None:
    """Write the signatures' method names into the SavedModel, which was saved with `predict`."""
    others = {one.key: one.method for one in signatures if one.method != PREDICT_METHOD_NAME}
    if not others:
        return
    file = folder / SAVED_MODEL_FILENAME_PB
    message = SavedModel.FromString(file.read_bytes())
    for key, method in others.items():
        message.meta_graphs[0].signature_def[key].method_name = method
    data = message.SerializeToString(deterministic=True)
    write_file(file, data)
    write_fingerprint(message, data, folder)


def functions_of(
    data: Content, where: str, naming: Naming = Naming.OWN, *, any_batch: bool = False
) -> tuple[dict[str, ConcreteFunction], Any]:
    """The signatures of a file as functions, and the object that holds its variables.

    Args:
        data: the file's content.
        where: its path, for errors.
        naming: the rule for signatures and names.
        any_batch: whether to make the first size of inputs variable.

    Raises:
        OpError: see `load`.
    """
    model = read_content(data, where, naming)
    try:
        with init_scope():
            return _traced(model, len(data), any_batch=any_batch)
    except OpError as error:
        raise type(error)(f"{where}: {error.message}") from error
    except RecursionError:
        raise DataLossError(f"{where}: its subgraphs are nested too deeply") from None


def _traced(model: Model, size: int, *, any_batch: bool) -> tuple[dict[str, ConcreteFunction], Any]:
    shapes = {
        id(tensor): tensor.shape
        for signature in model.signatures
        for tensor in signature.inputs.values()
    }
    if any_batch:
        shapes = open_batches(model)
    state = State(model)
    translation = Translation(model, state, _TIMES * size + _SLACK, spread=size > _MOST_IN_GRAPH)
    functions = {one.key: _function(translation, one, shapes) for one in model.signatures}
    return functions, state.module


def _function(
    translation: Translation, signature: Signature, shapes: Mapping[int, Shape]
) -> ConcreteFunction:
    inputs = signature.inputs
    if not signature.outputs:
        raise InvalidArgumentError(f"signature {signature.key!r:.120} has no outputs")
    specs = {}
    for name, tensor in inputs.items():
        if tensor.dtype is dtypes.resource:
            raise UnimplementedError(f"input {name!r:.120} must not be a resource")
        specs[name] = TensorSpec(shapes[id(tensor)], tensor.dtype, name)

    def serve(**given: Tensor) -> dict[str, Tensor]:
        by_tensor = {id(one): given[name] for name, one in inputs.items()}
        subgraph = signature.subgraph
        found = translation.run(subgraph, [by_tensor[id(one)] for one in subgraph.inputs])
        results = dict(zip(map(id, subgraph.outputs), found, strict=True))
        named = {name: results[id(one)] for name, one in signature.outputs.items()}
        for name, value in named.items():
            if not isinstance(value, Tensor):
                raise UnimplementedError(f"output {name!r:.120} must not be a resource")
        return named

    made: Any = function(serve, autograph=False)
    concrete: ConcreteFunction = made.get_concrete_function(**specs)
    return concrete


def _content_of(path: str | os.PathLike[str]) -> Content:
    # Read instead of mapped: changes of the file must not change the weights later.
    with explained("read", path), open_regular(path) as file:
        return file.read()
