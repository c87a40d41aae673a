"""What a checkpoint says of the objects that are in it, read without any of them.

Loading a SavedModel needs no more: what restores values to objects stands in `restoring`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinnace.checkpoint.keys import OBJECT_GRAPH_KEY
from pinnace.checkpoint.object_graph import ObjectGraph, parse_object_graph
from pinnace.framework.errors import DataLossError
from pinnace.storage.bundle import BundleReader, index_path


def stored_objects(reader: BundleReader) -> ObjectGraph:
    """The objects of a checkpoint.

    Raises:
        DataLossError: it has none, or they are damaged.
    """
    where = index_path(reader.prefix)
    if OBJECT_GRAPH_KEY not in reader:
        raise DataLossError(f"{where} has no object graph, it is not a TensorFlow 2 checkpoint")
    data = reader.read(OBJECT_GRAPH_KEY)
    if data.shape != () or not isinstance(data[()], bytes):
        raise DataLossError(f"{where}: the object graph is not one string")
    return parse_object_graph(data[()], where)


def stored_under(reader: BundleReader, prefix: str) -> dict[str, Any]:
    """The values whose keys begin with `prefix`, by what comes after it."""
    keys = [key for key in reader.keys() if key.startswith(f"{prefix}-")]  # noqa: SIM118 (no dict)
    return {key.removeprefix(prefix): np.array(reader.read(key)) for key in keys}
