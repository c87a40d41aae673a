"""Keras 2's metadata of the objects in a SavedModel: classes and configurations.

keras_metadata.pb              since TensorFlow 2.5: a KerasMetadata message
SavedUserObject.metadata       before that: the same texts, in the object graph
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from pinnace.framework.errors import DataLossError, ResourceExhaustedError
from pinnace.ops.state import table_state
from pinnace.proto.keras_metadata_pb2 import KerasMetadata
from pinnace.saved_model import reading
from pinnace.saved_model.restored import RestoredResource
from pinnace.storage.regular_files import open_regular
from pinnace.storage.system_errors import explained

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from pinnace.framework.variable import Variable
    from pinnace.proto.saved_model_pb2 import MetaGraphDef
    from pinnace.saved_model.restoring import Loader

FILE = "keras_metadata.pb"
# It may contain vocabularies of tens of thousands of words several times.
MOST_BYTES = 256_000_000
_KERAS = "_tf_keras_"


@dataclass(frozen=True, slots=True)
class Described:
    """Keras' metadata of one object: its identifier, and a JSON string."""

    identifier: str
    metadata: str


class KerasObjects:
    """The objects of a SavedModel by number, 0 for the root, as Keras reads them.

    Args:
        root: the result of `saved_model.load`.
        described: Keras' metadata by object number; empty without metadata.
        loader: the loader with the objects; None if the file has none.
    """

    def __init__(self, root: Any, described: Mapping[int, Described], loader: Loader | None):
        self.root = root
        self.described = described
        self._loader = loader

    def children(self, number: int) -> dict[str, int]:
        """The numbers of an object's children, by name."""
        return {} if self._loader is None else self._loader.children_of(number)

    def object(self, number: int) -> Any:
        """The object of that number."""
        return None if self._loader is None else self._loader.object(number)

    def table(self, number: int) -> dict[Any, Any] | None:
        """The content of the table with that number, strings as `str`; None for other objects."""
        found = self.object(number)
        if not isinstance(found, RestoredResource):
            return None
        _ = found.resource_handle  # fills it
        table = found._resource()
        if not isinstance(table, table_state.Table):
            return None
        held = table.export("load_model")
        keys, values = ([_text(one) for one in array.tolist()] for array in held)
        return dict(zip(keys, values, strict=True))

    def use_instead(self, pairs: Mapping[int, Variable]) -> None:
        """Replace variables in signatures and functions that are not created yet.

        Args:
            pairs: the replacement of each object, by its number.
        """
        if self._loader is not None:
            self._loader.use_instead(pairs)


def load_keras_objects(export_dir: str | os.PathLike[str]) -> KerasObjects:
    """Load a SavedModel with Keras 2's metadata.

    Raises:
        OpError: see `saved_model.load`.
        DataLossError: Keras' file is damaged.
        ResourceExhaustedError: Keras' file is too long.
    """
    folder = Path(export_dir)

    def describe(meta: MetaGraphDef, loader: Loader | None, root: Any) -> KerasObjects:
        return KerasObjects(root, {} if loader is None else described(folder, meta), loader)

    found: KerasObjects = reading.load_and(folder, describe)
    return found


def described(folder: Path, meta: MetaGraphDef) -> dict[int, Described]:
    """Keras' metadata of objects, by their number.

    Raises:
        DataLossError: its file is damaged.
        ResourceExhaustedError: its file is too long.
    """
    nodes = meta.object_graph_def.nodes
    path = folder / FILE
    if not path.is_file():
        return {
            number: Described(node.user_object.identifier, node.user_object.metadata)
            for number, node in enumerate(nodes)
            if node.WhichOneof("kind") == "user_object"
            and node.user_object.identifier.startswith(_KERAS)
            and node.user_object.metadata
        }
    with explained("read", path), open_regular(path) as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ResourceExhaustedError(f"{path} has more than {MOST_BYTES:,} bytes{_ADVICE}")
    try:
        message = KerasMetadata.FromString(data)
    except DecodeError as error:
        raise DataLossError(
            f"{path} is damaged: it is not a KerasMetadata message{_ADVICE}"
        ) from error
    found = {one.node_id: Described(one.identifier, one.metadata) for one in message.nodes}
    if found and not all(0 <= number < len(nodes) for number in found):
        raise DataLossError(f"{path} describes objects that the model does not have{_ADVICE}")
    return found


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


_ADVICE = "\n  Try: saved_model.load, which gives the functions and needs no such file"
