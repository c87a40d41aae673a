"""`load`: a SavedModel folder to an object; the steps in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from pinnace.checkpoint.keys import VARIABLE_VALUE
from pinnace.checkpoint.object_graph import ObjectGraph, matched
from pinnace.checkpoint.restoring import stored_objects
from pinnace.framework import structure
from pinnace.framework.containers import DictWrapper, ListWrapper, TupleWrapper
from pinnace.framework.context import init_scope
from pinnace.framework.errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)
from pinnace.framework.specs import TensorSpec
from pinnace.framework.tensor import Array, Tensor, wrap
from pinnace.framework.trackable import Trackable
from pinnace.framework.variable import Variable, VariableAggregation, VariableSynchronization
from pinnace.functions.concrete import ConcreteFunction
from pinnace.graph.codec.dtypes import decode_dtype
from pinnace.graph.codec.functions import FunctionLibrary
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.proto.saved_model_pb2 import MetaGraphDef, SavedModel
from pinnace.saved_model import layout
from pinnace.saved_model.assets import Asset, resolve_asset
from pinnace.saved_model.codecs.objects import (
    DICT,
    LIST,
    SIGNATURE_MAP,
    TUPLE,
    AssetObject,
    CapturedObject,
    ConcreteObject,
    ConstantObject,
    FunctionObject,
    Objects,
    ResourceObject,
    SavedItem,
    UserObject,
    VariableObject,
    decode_objects,
)
from pinnace.saved_model.codecs.structures import decode_structure
from pinnace.saved_model.options import LoadOptions
from pinnace.saved_model.restored import (
    LazyConcrete,
    RestoredCallable,
    RestoredFunction,
    RestoredObject,
    RestoredResource,
    SignatureMap,
)
from pinnace.saved_model.restoring import Loader
from pinnace.saved_model.v1_graphs import load_main_graph
from pinnace.storage.bundle import BundleReader, index_path
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    import os


def load(
    export_dir: str | os.PathLike[str],
    tags: str | Iterable[str] | None = None,
    options: LoadOptions | None = None,
) -> Any:
    """The object that a SavedModel holds.

    Its functions are decoded when they are called, its variables mapped when they are read.

    Args:
        export_dir: the folder.
        tags: which of several graphs; None takes the only one, or that for serving.
        options: see `LoadOptions`.

    Returns:
        An object whose attributes are what the saved object had for children, with `signatures`,
        a mapping from names to concrete functions.

    Raises:
        NotFoundError: there is no such model, or a part of it is missing.
        DataLossError: a file is damaged.
        InvalidArgumentError: no graph has these tags; a part of the model is not what it should be.

    Source:
        TensorFlow `tf.saved_model.load`.
    """
    chosen = options or LoadOptions()
    folder = Path(export_dir)
    with init_scope():
        message = read_messages(folder)
        meta = choose_graph(message, tags, layout.model_path(folder))
        if not meta.HasField("object_graph_def"):
            return load_main_graph(folder, meta, chosen)
        return Loader(folder, meta, chosen).load()


def read_messages(folder: Path) -> SavedModel:
    """The file of messages of a SavedModel.

    Raises:
        NotFoundError: there is none.
        DataLossError: it is damaged.
    """
    path = layout.model_path(folder)
    if not path.exists():
        _refuse_missing(folder)
    with explained("read", path), open_regular(path) as file:
        data = file.read()
    try:
        message = SavedModel.FromString(data)
    except DecodeError as error:
        raise DataLossError(f"{path} is damaged: it is no SavedModel message") from error
    if not message.meta_graphs:
        raise DataLossError(f"{path} holds no graph: it is empty or cut off")
    return message


def _refuse_missing(folder: Path) -> None:
    if not folder.is_dir():
        raise NotFoundError(f"there is no SavedModel at {folder}: it is not a folder")
    if Path(folder, layout.MODEL_TEXT_FILE).exists():
        raise UnimplementedError(
            f"{folder} holds {layout.MODEL_TEXT_FILE}, the text form of a SavedModel, which is not "
            "read"
        )
    versions = sorted(
        (int(one.name) for one in folder.iterdir() if one.name.isascii() and one.name.isdigit()),
    )
    advice = f"\n  Try: {folder / str(versions[-1])}" if versions else ""
    raise NotFoundError(
        f"there is no SavedModel at {folder}: {layout.MODEL_FILE} is missing{advice}"
    )


def choose_graph(message: SavedModel, tags: str | Iterable[str] | None, path: Path) -> MetaGraphDef:
    """The graph with these tags.

    Args:
        message: the file of messages.
        tags: which; None takes the only graph, or that for serving.
        path: the file, for errors.

    Raises:
        InvalidArgumentError: there is none, or not one alone.
    """
    graphs = list(message.meta_graphs)
    known = "; ".join(", ".join(one.meta_info_def.tags) or "no tags" for one in graphs)
    if tags is None:
        if len(graphs) == 1:
            return graphs[0]
        wanted = {layout.SERVE}
    else:
        wanted = {tags} if isinstance(tags, str) else set(tags)
    found = [one for one in graphs if set(one.meta_info_def.tags) == wanted]
    if len(found) != 1:
        problem = "no graph" if not found else f"{len(found)} graphs"
        raise InvalidArgumentError(
            f"{path} has {problem} with the tags {', '.join(sorted(wanted)) or 'none'}\n"
            f"  it has graphs with: {known}"
        )
    return found[0]
