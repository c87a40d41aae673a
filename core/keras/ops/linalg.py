"""The namespace `keras.ops.linalg`: functions on matrices."""

from pinnace.keras.ops.control import jvp as jvp
from pinnace.keras.ops.matrices import cholesky as cholesky
from pinnace.keras.ops.matrices import cholesky_inverse as cholesky_inverse
from pinnace.keras.ops.matrices import det as det
from pinnace.keras.ops.matrices import eig as eig
from pinnace.keras.ops.matrices import eigh as eigh
from pinnace.keras.ops.matrices import inv as inv
from pinnace.keras.ops.matrices import lstsq as lstsq
from pinnace.keras.ops.matrices import lu_factor as lu_factor
from pinnace.keras.ops.matrices import matrix_rank as matrix_rank
from pinnace.keras.ops.matrices import pinv as pinv
from pinnace.keras.ops.matrices import qr as qr
from pinnace.keras.ops.matrices import solve as solve
from pinnace.keras.ops.matrices import solve_triangular as solve_triangular
from pinnace.keras.ops.matrices import svd as svd
from pinnace.keras.ops.norms import norm as norm
