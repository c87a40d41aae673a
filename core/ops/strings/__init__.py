"""Strings: joining, splitting, patterns, conversion, hashing; what TensorFlow calls `tf.strings`."""

from pinnace.ops.strings import splitting as splitting
from pinnace.ops.strings.conversion import *
from pinnace.ops.strings.encoding import *
from pinnace.ops.strings.hashing import *
from pinnace.ops.strings.joining import *
from pinnace.ops.strings.patterns import *
