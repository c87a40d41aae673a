"""Which pinnace this is, and which version of TensorFlow's graphs it writes."""

from pinnace.framework.versions import VERSION as VERSION
from pinnace.graph.codec.graphs import PRODUCER as GRAPH_DEF_VERSION

__all__ = ["GRAPH_DEF_VERSION", "VERSION"]
