"""Loads a model from a folder: the server's only access to SavedModels."""

from __future__ import annotations

import tempfile
import weakref
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from pinnace.deploy.models.kinds import is_rewritten
from pinnace.framework.errors import DataLossError, InvalidArgumentError, NotFoundError, OpError
from pinnace.graph.effects import has_loops, is_pure
from pinnace.serving.config.lite_files import LiteFiles
from pinnace.serving.errors import LOG, one_line
from pinnace.serving.models.lite_versions import lite_file_of, write_lite
from pinnace.serving.models.loaded_model import LoadedModel, SignatureDefinition, TensorDefinition
from pinnace.serving.models.private_copy import copy_privately, held_copy
from pinnace.serving.models.version_files import links_within
from pinnace.serving.models.versions import is_saved_model
from pinnace.serving.running.limits import loading_bytes
from pinnace.serving.running.other_shapes import OtherShapes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pinnace.framework.shapes import Shape
    from pinnace.framework.specs import TensorSpec
    from pinnace.framework.storage import Resource
    from pinnace.graph.graph import Graph
    from pinnace.proto.saved_model_pb2 import MetaGraphDef, SignatureDef, TensorInfo
    from pinnace.serving.running.signatures import Arrays, Runnable

SERVING_TAG = "serve"
_Written = TypeVar("_Written")


class LoadedFunction(Protocol):
    """The part of a `ConcreteFunction` that the server relies on."""

    @property
    def array_inputs(self) -> Mapping[str, TensorSpec]:
        """The input specs, by name."""

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""

    @property
    def array_outputs(self) -> Mapping[str, TensorSpec]:
        """The output specs, by name."""

    def run_arrays(self, feeds: Arrays) -> Arrays:
        """Return the outputs for these inputs."""

    @property
    def assigned(self) -> tuple[Resource, ...] | None:
        """The storage of the variables that it assigns; None if it changes anything else."""

    def with_storage(self, storage: Mapping[Resource, Resource]) -> Callable[[Arrays], Arrays]:
        """Return the same function with other storage for some variables."""

    def for_shapes(self, shapes: Mapping[str, Shape]) -> Callable[[Arrays], Arrays]:
        """Return the same function for inputs of other shapes than declared."""


class FunctionSignature:
    """A loaded function as a signature.

    Args:
        function: a function of a loaded model.
    """

    __slots__ = (
        "_function",
        "graph",
        "inputs",
        "is_bounded",
        "is_pure",
        "outputs",
        "run_arrays",
        "run_other_shapes",
    )

    def __init__(self, function: LoadedFunction) -> None:
        self.inputs = dict(function.array_inputs)
        self.outputs = dict(function.array_outputs)
        self._function = function
        self.run_arrays = function.run_arrays
        self.graph = function.graph
        self.is_pure = is_pure(self.graph)
        self.is_bounded = not has_loops(self.graph)
        self.run_other_shapes = OtherShapes(self.inputs, function).run_arrays

    @property
    def assigned(self) -> tuple[Resource, ...] | None:
        """The storage of the variables that it assigns; None if it changes anything else."""
        return self._function.assigned

    def with_storage(self, storage: Mapping[Resource, Resource]) -> Callable[[Arrays], Arrays]:
        """Return the runner with other storage for variables.

        Args:
            storage: storage of a variable → the storage that replaces it.
        """
        return self._function.with_storage(storage)


def load_model(
    path: Path, tags: Sequence[str] = (), lite_files: LiteFiles = LiteFiles.ALONE
) -> LoadedModel:
    """Load the model in a folder, ready to run.

    Args:
        path: the folder of a `saved_model.pb` (or `.pbtxt`), of one ONNX file, of TensorFlow.js'
            `model.json` or of one .tflite file; or an ONNX or .tflite file, or one that
            `jax.export` or ydf wrote.
        tags: the exact tags of the graph; none takes the one that is tagged `serve`.
        lite_files: the use of a `model.tflite` in the folder.

    Raises:
        DataLossError: a variable does not match its checksum.
        NotFoundError: the folder has no model.
        FailedPreconditionError: the model has no signature to serve.
        OpError: the model cannot be read or run; the message says why.
    """
    lite = lite_file_of(path, lite_files)
    if lite is not None:
        return _load_lite(path, lite, lite_files)
    if is_rewritten(path):
        from pinnace.deploy.models.rewritten import write_saved_model

        return _load_rewritten(path, write_saved_model, tags)[0]
    if _onnx_file(path) is None and not is_saved_model(path):
        raise NotFoundError(f"{path}: saved_model.pb is missing")
    file = _onnx_file(path)
    if file is not None:
        from pinnace.deploy.onnx.files.external_data import check_external_data

        check_external_data(file)  # before it is copied, since a copy has no links
    copy = held_copy(path) or copy_privately(path)
    if copy is None:
        return _load(path, tags, is_private=False)
    inside = copy.path / path.name if path.is_file() else copy.path
    try:
        model = _load(inside, tags)
    except OpError as error:
        copy.release()
        if path.is_file() and isinstance(error, InvalidArgumentError):
            return _load_in_place(path, error)
        raise type(error)(str(error).replace(str(inside), str(path))) from error
    except BaseException:
        copy.release()
        raise
    weakref.finalize(model.owner, copy.release)
    return model


def _load_lite(path: Path, file: Path, files: LiteFiles) -> LoadedModel:
    """Load a .tflite file, with signatures as it defines them."""

    def write(inside: Path, folder: Path) -> dict[str, SignatureDefinition]:
        return write_lite(inside / file.name if inside.is_dir() else inside, folder, files)

    model, definitions = _load_rewritten(path, write)
    return replace(model, definitions=definitions)


def _load_rewritten(
    path: Path, write: Callable[[Path, Path], _Written], tags: Sequence[str] = ()
) -> tuple[LoadedModel, _Written]:
    """Load a copy of a model that is first converted; links out of its folder are refused."""
    copy = held_copy(path) or copy_privately(path)
    inside = path if copy is None else copy.path / path.name if path.is_file() else copy.path
    try:
        with tempfile.TemporaryDirectory(prefix="pinnace-") as folder:
            place = Path(folder) / path.name
            written = write(inside, place)
            with links_within(place):  # its SavedModel is not below the model's base folder
                return load_model(place, tags), written
    except OpError as error:
        raise type(error)(str(error).replace(str(inside), str(path))) from error
    finally:
        if copy is not None:
            copy.release()


def _load_in_place(path: Path, reason: InvalidArgumentError) -> LoadedModel:
    """Load an ONNX file whose copy cannot be loaded, since its weights may be in any files."""
    model = _load(path, is_private=False)
    LOG.warning(
        "%s is served from its own files, which must not be cut short: its copy cannot be loaded: "
        "%s (put it into a folder with its weights)",
        path,
        one_line(reason),
    )
    return model


def _load(path: Path, tags: Sequence[str] = (), *, is_private: bool = True) -> LoadedModel:
    file = _onnx_file(path)
    if file is None:
        return _load_saved_model(path, tags, is_private=is_private)
    from pinnace.serving.models.engines import load_onnx

    return load_onnx(file)


def _load_saved_model(path: Path, tags: Sequence[str], *, is_private: bool) -> LoadedModel:
    # Imported here: the rest of the server, and `serving.client`, run without the loader.
    from pinnace.framework.variable import forget_values
    from pinnace.saved_model.missing_kernels import unsupported_signatures
    from pinnace.saved_model.options import LoadOptions
    from pinnace.saved_model.reading import load

    # Workers share mapped files, which must be a copy, as the original may be overwritten.
    options = LoadOptions(verify=True, map_weights=is_private, max_run_bytes=loading_bytes())
    loaded = load(str(path), tags or None, options)
    signatures: dict[str, Runnable] = {
        name: FunctionSignature(function) for name, function in loaded.signatures.items()
    }
    variables = {
        id(variable): variable
        for function in loaded.signatures.values()
        for variable in function.variables
    }
    forget = partial(forget_values, tuple(variables.values()))
    missing = {
        name: "; ".join(map(str, ops))
        for name, ops in unsupported_signatures(loaded.signatures).items()
    }
    definitions = read_definitions(path, tags)
    return LoadedModel(signatures, definitions, loaded, missing=missing, forget=forget)


def _onnx_file(path: Path) -> Path | None:
    """The ONNX file of a version, if it is not a SavedModel."""
    if path.is_file():
        return path
    files = sorted(path.glob("*.onnx"))
    return files[0] if len(files) == 1 and not is_saved_model(path) else None


def read_definitions(path: Path, tags: Sequence[str] = ()) -> dict[str, SignatureDefinition]:
    """Return a SavedModel's signatures as its file defines them, including those that cannot run.

    Args:
        path: the folder with `saved_model.pb`.
        tags: the exact tags of the graph; none takes the one that is tagged `serve`.

    Raises:
        DataLossError: the file is not a SavedModel.
        InvalidArgumentError: no graph has these tags.
    """
    from google.protobuf.message import DecodeError

    from pinnace.proto.saved_model_pb2 import SavedModel

    file = path / "saved_model.pb"
    if file.is_file():
        try:
            message = SavedModel.FromString(file.read_bytes())
        except DecodeError:
            raise DataLossError(f"{file}: not a SavedModel, or truncated") from None
    else:
        from pinnace.saved_model.reading import read_messages

        file, message = file.with_suffix(".pbtxt"), read_messages(path)
    graph = _served_graph(list(message.meta_graphs), tags)
    if graph is None:
        wanted = ", ".join(tags) or SERVING_TAG
        raise InvalidArgumentError(f"{file}: no graph is tagged '{wanted}'")
    return {name: _decode_signature(signature) for name, signature in graph.signature_def.items()}


def _served_graph(graphs: list[MetaGraphDef], tags: Sequence[str]) -> MetaGraphDef | None:
    if tags:
        return next((one for one in graphs if set(one.meta_info_def.tags) == set(tags)), None)
    tagged = [graph for graph in graphs if SERVING_TAG in graph.meta_info_def.tags]
    exact = [graph for graph in tagged if list(graph.meta_info_def.tags) == [SERVING_TAG]]
    return next(iter(exact + tagged), None)


def _decode_signature(message: SignatureDef) -> SignatureDefinition:
    return SignatureDefinition(
        {name: _decode_tensor(info) for name, info in message.inputs.items()},
        {name: _decode_tensor(info) for name, info in message.outputs.items()},
        message.method_name,
        dict(message.defaults),
    )


def _decode_tensor(message: TensorInfo) -> TensorDefinition:
    from pinnace.proto.types_pb2 import DataType

    shape = message.tensor_shape
    known = DataType.DESCRIPTOR.values_by_number.get(message.dtype)
    return TensorDefinition(
        "DT_INVALID" if known is None else known.name,
        message.name,
        None if shape.unknown_rank else tuple(dim.size for dim in shape.dim),
    )
