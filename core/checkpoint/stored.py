"""Reads the object graph and the values of a checkpoint, without a program's objects.

Loading a SavedModel imports this module alone; `restoring` restores values to objects.
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
        DataLossError: the checkpoint has no object graph, or a damaged one.
    """
    where = index_path(reader.prefix)
    if OBJECT_GRAPH_KEY not in reader:
        raise DataLossError(f"{where} has no object graph, it is not a TensorFlow 2 checkpoint")
    data = reader.read(OBJECT_GRAPH_KEY)
    if data.shape != () or not isinstance(data[()], bytes):
        raise DataLossError(f"{where}: the object graph is not one string")
    return parse_object_graph(data[()], where)


def stored_under(reader: BundleReader, prefix: str) -> dict[str, Any]:
    """The values whose keys begin with `prefix`, by the rest of their keys."""
    keys = [key for key in reader.keys() if key.startswith(f"{prefix}-")]  # noqa: SIM118 (no dict)
    return {key.removeprefix(prefix): np.array(reader.read(key)) for key in keys}
