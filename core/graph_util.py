"""`tf.graph_util`, and a freezing function that programs import from TensorFlow's internals."""

from pinnace.functions.freezing import (
    convert_variables_to_constants_v2 as convert_variables_to_constants_v2,
)
from pinnace.functions.wrapping import import_graph_def as import_graph_def
