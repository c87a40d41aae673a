"""`tf.compat.v1.graph_util`."""

from pinnace.functions.graph_files import extract_sub_graph as extract_sub_graph
from pinnace.functions.wrapping import import_graph_def as import_graph_def
