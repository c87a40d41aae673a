"""`keras.mixed_precision`: policies and loss scaling under older names."""

from pinnace.keras.dtype_policy import DTypePolicy as DTypePolicy
from pinnace.keras.dtype_policy import DTypePolicy as Policy
from pinnace.keras.dtype_policy import dtype_policy as dtype_policy
from pinnace.keras.dtype_policy import dtype_policy as global_policy
from pinnace.keras.dtype_policy import set_dtype_policy as set_dtype_policy
from pinnace.keras.dtype_policy import set_dtype_policy as set_global_policy
from pinnace.keras.optimizers.loss_scale import LossScaleOptimizer as LossScaleOptimizer

__all__ = [
    "DTypePolicy",
    "LossScaleOptimizer",
    "Policy",
    "dtype_policy",
    "global_policy",
    "set_dtype_policy",
    "set_global_policy",
]
