"""TensorFlow's `tf.graph_util`."""

from pinnace.functions.wrapping import import_graph_def as import_graph_def
