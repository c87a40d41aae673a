"""Identifies the program that wrote a SavedModel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinnace.framework.errors import OpError
from pinnace.saved_model import keras_objects

if TYPE_CHECKING:
    from pathlib import Path

    from pinnace.proto.saved_model_pb2 import MetaGraphDef

_VERSION = re.compile(r'"keras_version": ?"([0-9A-Za-z.+-]{1,40})"')
# The children of the root in files of Keras 3's `model.export`.
_EXPORTED = frozenset({"_all_variables", "_misc_assets", "trainable_variables"})


def writer_of(meta: MetaGraphDef) -> str:
    """The library that wrote the file."""
    info = meta.meta_info_def
    if info.tensorflow_git_version == "pinnace":
        return "pinnace"
    return f"TensorFlow {info.tensorflow_version}" if info.tensorflow_version else "unknown"


def keras_of(folder: Path, meta: MetaGraphDef) -> str:
    """The Keras that wrote the model, with its version if stored; empty if none did."""
    nodes = meta.object_graph_def.nodes
    own = any(
        node.WhichOneof("kind") == "user_object"
        and node.user_object.identifier.startswith("_tf_keras_")
        for node in nodes
    )
    try:
        told = [one.metadata for one in keras_objects.described(folder, meta).values()]
    except OpError:  # damaged: loading it as a Keras model says so
        told, own = [], True
    found = next(filter(None, map(_VERSION.search, told)), None)
    if found is not None:
        return f"Keras {found[1]}"
    if told or own:
        return "Keras 2"
    exported = bool(nodes) and {one.local_name for one in nodes[0].children} >= _EXPORTED
    return "Keras 3 (model.export)" if exported else ""
