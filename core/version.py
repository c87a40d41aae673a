"""The version of pinnace, and the versions of TensorFlow's graphs that it writes and reads."""

import platform

from pinnace.framework.versions import VERSION as VERSION
from pinnace.graph.codec.encoding import PRODUCER as GRAPH_DEF_VERSION

__all__ = [
    "COMPILER_VERSION",
    "GIT_VERSION",
    "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER",
    "GRAPH_DEF_VERSION_MIN_PRODUCER",
    "VERSION",
]

# The compiler of the interpreter, since installing this library needs none.
COMPILER_VERSION = platform.python_compiler()
# A release is the tag of its version.
GIT_VERSION = f"v{VERSION}"
# TensorFlow's value: no graph is refused for its age.
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
