"""`tf.compat.v1.train`: optimizers, hooks and the global step."""

from pinnace.estimator.global_step import get_global_step as get_global_step
from pinnace.estimator.global_step import get_or_create_global_step as get_or_create_global_step
from pinnace.estimator.hooks import LoggingTensorHook as LoggingTensorHook
from pinnace.estimator.hooks import SessionRunArgs as SessionRunArgs
from pinnace.estimator.hooks import SessionRunHook as SessionRunHook
from pinnace.estimator.hooks import StopAtStepHook as StopAtStepHook
from pinnace.estimator.optimizers import AdamOptimizer as AdamOptimizer
from pinnace.estimator.optimizers import GradientDescentOptimizer as GradientDescentOptimizer
from pinnace.estimator.optimizers import MomentumOptimizer as MomentumOptimizer
from pinnace.estimator.optimizers import Optimizer as Optimizer
