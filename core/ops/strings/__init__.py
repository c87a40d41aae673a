"""Strings: joining, splitting, patterns, conversion, hashing: TensorFlow's `tf.strings`."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.strings import splitting as splitting
from pinnace.ops.strings.conversion import *
from pinnace.ops.strings.encoding import *
from pinnace.ops.strings.hashing import *
from pinnace.ops.strings.joining import *
from pinnace.ops.strings.patterns import *
