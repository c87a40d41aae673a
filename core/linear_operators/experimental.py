"""`tf.linalg.experimental`."""

from pinnace.linear_operators.krylov import conjugate_gradient as conjugate_gradient
