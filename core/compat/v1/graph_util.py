"""`tf.compat.v1.graph_util`."""

from pinnace.functions.freezing import (
    convert_variables_to_constants_v2 as convert_variables_to_constants_v2,
)
from pinnace.functions.graph_files import extract_sub_graph as extract_sub_graph
from pinnace.functions.wrapping import import_graph_def as import_graph_def
