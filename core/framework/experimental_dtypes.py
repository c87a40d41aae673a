"""TensorFlow's `tf.dtypes.experimental`: dtypes of at most 8 bits."""

from pinnace.framework.dtypes import float4_e2m1fn as float4_e2m1fn
from pinnace.framework.dtypes import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from pinnace.framework.dtypes import float8_e4m3fn as float8_e4m3fn
from pinnace.framework.dtypes import float8_e4m3fnuz as float8_e4m3fnuz
from pinnace.framework.dtypes import float8_e5m2 as float8_e5m2
from pinnace.framework.dtypes import float8_e5m2fnuz as float8_e5m2fnuz
from pinnace.framework.dtypes import int2 as int2
from pinnace.framework.dtypes import int4 as int4
from pinnace.framework.dtypes import uint2 as uint2
from pinnace.framework.dtypes import uint4 as uint4
