"""Linear algebra: what TensorFlow calls `tf.linalg`."""

from pinnace.ops.linalg.bands import *
from pinnace.ops.linalg.determinants import *
from pinnace.ops.linalg.factorization import *
from pinnace.ops.linalg.matrices import *
from pinnace.ops.linalg.norms import *
from pinnace.ops.linalg.solving import *
from pinnace.ops.math.clipping import global_norm as global_norm
from pinnace.ops.math.einstein import *
from pinnace.ops.math.products import *
