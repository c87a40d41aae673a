"""`tf.linalg`: linear algebra."""

# A package's names are those of its families; TensorFlow has some names of other families here too.

from pinnace.ops.linalg.bands import *
from pinnace.ops.linalg.batched import *
from pinnace.ops.linalg.determinants import *
from pinnace.ops.linalg.earlier import *
from pinnace.ops.linalg.eigen import *
from pinnace.ops.linalg.factorization import *
from pinnace.ops.linalg.functions import *
from pinnace.ops.linalg.least_squares import *
from pinnace.ops.linalg.matrices import *
from pinnace.ops.linalg.norms import *
from pinnace.ops.linalg.solving import *
from pinnace.ops.linalg.triangles import *
from pinnace.ops.linalg.tridiagonal import *
from pinnace.ops.math.clipping import global_norm as global_norm
from pinnace.ops.math.einstein import *
from pinnace.ops.math.products import *
from pinnace.ops.nn.normalization import l2_normalize as l2_normalize
