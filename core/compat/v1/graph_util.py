"""`tf.compat.v1.graph_util`."""

from pinnace.functions.wrapping import import_graph_def as import_graph_def
from pinnace.graph.files import extract_sub_graph as extract_sub_graph
