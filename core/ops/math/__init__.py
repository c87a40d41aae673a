"""Mathematics, element by element and over axes: what TensorFlow calls `tf.math`."""

from pinnace.ops.math import bits as bits
from pinnace.ops.math import clipping as clipping
from pinnace.ops.math import einstein as einstein
from pinnace.ops.math import products as products
from pinnace.ops.math import ranges as ranges
from pinnace.ops.math.arithmetic import *
from pinnace.ops.math.comparison import *
from pinnace.ops.math.complexes import *
from pinnace.ops.math.counting import *
from pinnace.ops.math.cumulation import *
from pinnace.ops.math.exponents import *
from pinnace.ops.math.logic import *
from pinnace.ops.math.reduction import *
from pinnace.ops.math.rounding import *
from pinnace.ops.math.segments import *
from pinnace.ops.math.special import *
from pinnace.ops.math.trigonometry import *
