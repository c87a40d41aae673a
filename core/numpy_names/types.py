"""NumPy's older names of scalar types, and the array class."""

import numpy as np

from pinnace.framework.tensor import Tensor

complex_ = np.complex128
float_ = np.float64
ndarray = Tensor
string_ = np.bytes_
unicode_ = np.str_
