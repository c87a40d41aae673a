"""The names of version 1: of model functions of estimators, and of graphs that are read.

The optimizers and the global step belong to the model function that runs, placeholders to a request
or a graph. There are no sessions: `wrap_function` makes functions of graphs.
"""

from pinnace import estimator as estimator
from pinnace.compat.v1 import graph_util as graph_util
from pinnace.compat.v1 import tpu as tpu
from pinnace.compat.v1 import train as train
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

__all__ = [
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
]
