"""Pictures: other sizes, parts, boxes; what TensorFlow calls `tf.image`."""

# A family's `__all__` is its public names: star imports are the index.

from pinnace.ops.image.cropping import *
from pinnace.ops.image.resizing import *
from pinnace.ops.image.suppression import *
