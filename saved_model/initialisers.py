"""The initialisation of a TensorFlow 1 graph after its variables are restored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from pinnace.proto.variable_pb2 import VariableDef
from pinnace.saved_model import layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pinnace.proto.saved_model_pb2 import MetaGraphDef


def initialisers(meta: MetaGraphDef) -> list[str]:
    """The nodes that a session runs first.

    It is the op that the model names. Without one, it is what TensorFlow's loader runs then: the
    collections of table and local variable initialisers.

    Args:
        meta: the graph.
    """
    if layout.INIT_SIGNATURE in meta.signature_def:
        outputs = meta.signature_def[layout.INIT_SIGNATURE].outputs
        if layout.INIT_SIGNATURE in outputs:
            return [outputs[layout.INIT_SIGNATURE].name.partition(":")[0]]
    for collection in (layout.INIT_COLLECTION, layout.LEGACY_INIT_COLLECTION):
        names = _collected(meta, collection)
        if names:
            return names[:1]
    return list(
        dict.fromkeys([*_collected(meta, layout.TABLE_INITIALIZERS), *_of_local_variables(meta)])
    )


def _collected(meta: MetaGraphDef, collection: str) -> list[str]:
    if collection not in meta.collection_def:
        return []
    names = meta.collection_def[collection].node_list.value
    return [name.partition(":")[0] for name in names]


def _of_local_variables(meta: MetaGraphDef) -> Iterator[str]:
    if layout.LOCAL_VARIABLES not in meta.collection_def:
        return
    for data in meta.collection_def[layout.LOCAL_VARIABLES].bytes_list.value:
        try:
            found = VariableDef.FromString(data)
        except DecodeError:
            continue  # of a user's program: TensorFlow's are messages
        yield found.initializer_name.partition(":")[0]
