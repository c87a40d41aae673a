"""TensorFlow's `tf.graph_util`, and the freezing that people import from inside TensorFlow."""

from pinnace.functions.freezing import (
    convert_variables_to_constants_v2 as convert_variables_to_constants_v2,
)
from pinnace.functions.wrapping import import_graph_def as import_graph_def
