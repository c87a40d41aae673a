"""The names of version 1 that have a meaning without a session.

Names that are the same in version 2, or only take other arguments, are found by `names.py` when
first used. Behaviour of version 2 is always on. The optimizers and the global step belong to the
model function of a running estimator, placeholders to a request or a graph. There are no sessions:
`wrap_function` makes functions of graphs, and the names of graph mode say so.
"""

import importlib
from typing import TYPE_CHECKING, Any

from pinnace import estimator as estimator
from pinnace.compat.v1 import behaviour as _behaviour
from pinnace.compat.v1 import functions as _functions
from pinnace.compat.v1 import graph_util as graph_util
from pinnace.compat.v1 import tpu as tpu
from pinnace.compat.v1 import train as train
from pinnace.compat.v1.behaviour import *  # noqa: F403 (its `__all__` is its names)
from pinnace.compat.v1.dimension import Dimension as Dimension
from pinnace.compat.v1.functions import *  # noqa: F403 (likewise)
from pinnace.compat.v1.names import giver as _giver
from pinnace.compat.v1.names import lister as _lister
from pinnace.estimator.receivers import placeholder as placeholder
from pinnace.functions.graphs import Graph as Graph
from pinnace.functions.graphs import Session as Session
from pinnace.functions.graphs import get_default_graph as get_default_graph
from pinnace.functions.graphs import reset_default_graph as reset_default_graph
from pinnace.functions.wrapping import import_graph_def as import_graph_def
from pinnace.functions.wrapping import wrap_function as wrap_function
from pinnace.graph.operation import Operation as Operation
from pinnace.ops.random.stateful import normal as random_normal
from pinnace.ops.random.stateful import uniform as random_uniform
from pinnace.proto.graph_pb2 import GraphDef as GraphDef

if TYPE_CHECKING:
    from pinnace.compat.v1 import app as app
    from pinnace.compat.v1 import data as data
    from pinnace.compat.v1 import flags as flags
    from pinnace.compat.v1 import image as image
    from pinnace.compat.v1 import initializers as initializers
    from pinnace.compat.v1 import io as io
    from pinnace.compat.v1 import logging as logging
    from pinnace.compat.v1 import losses as losses
    from pinnace.compat.v1 import nn as nn
    from pinnace.compat.v1 import python_io as python_io
    from pinnace.compat.v1 import strings as strings

# Namespaces with functions of their own, and initializers by the names they have here.
_MODULES = {"app", "data", "flags", "image", "initializers", "io", "logging", "losses", "nn"}
_MODULES |= {"python_io", "strings"}
# Messages, and functions in files of their own, by module.
_MADE = {
    **dict.fromkeys(("Event", "HistogramProto", "Summary"), "pinnace.proto.event_pb2"),
    "LogMessage": "pinnace.proto.event_pb2",
    "SummaryMetadata": "pinnace.proto.event_pb2",
    **dict.fromkeys(("AttrValue", "NameAttrList"), "pinnace.proto.attr_value_pb2"),
    "NodeDef": "pinnace.proto.node_def_pb2",
    "string_split": "pinnace.compat.v1.texts",
    "SparseTensorValue": "pinnace.ops.composites.sparse.tensor",
    "setdiff1d": "pinnace.ops.array.duplicates",
    **dict.fromkeys(("batch_gather", "clip_by_average_norm"), "pinnace.compat.v1.gone"),
    **dict.fromkeys(
        (
            *("batch_scatter_update", "scatter_add", "scatter_div", "scatter_max", "scatter_min"),
            *("scatter_mul", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update"),
            *("scatter_sub", "scatter_update"),
        ),
        "pinnace.compat.v1.scattered",
    ),
}
_INITIALIZERS = {
    "constant_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "ones_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "truncated_normal_initializer",
    "uniform_unit_scaling_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
}
_give = _giver("tf", globals())
_list = _lister("tf", globals())


def __dir__() -> list[str]:
    return sorted({*_list(), *_MODULES, *_INITIALIZERS, *_MADE})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"pinnace.compat.v1.{name}")
    if name in _MADE:
        return getattr(importlib.import_module(_MADE[name]), name)
    if name in _INITIALIZERS:
        return getattr(importlib.import_module("pinnace.compat.v1.initializers"), name)
    if name == "__version__":
        return importlib.import_module("pinnace.framework.versions").VERSION
    return importlib.import_module("pinnace.compat") if name == "compat" else _give(name)


__all__ = [
    "Dimension",
    "Graph",
    "GraphDef",
    "Operation",
    "Session",
    "estimator",
    "get_default_graph",
    "graph_util",
    "import_graph_def",
    "placeholder",
    "random_normal",
    "random_uniform",
    "reset_default_graph",
    "tpu",
    "train",
    "wrap_function",
    *_behaviour.__all__,
    *_functions.__all__,
]
