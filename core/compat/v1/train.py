"""`tf.compat.v1.train`: optimizers, hooks, learning rates, the global step, files."""

from pinnace.compat.v1.decays import cosine_decay as cosine_decay
from pinnace.compat.v1.decays import exponential_decay as exponential_decay
from pinnace.compat.v1.decays import inverse_time_decay as inverse_time_decay
from pinnace.compat.v1.decays import natural_exp_decay as natural_exp_decay
from pinnace.compat.v1.decays import piecewise_constant as piecewise_constant
from pinnace.compat.v1.decays import piecewise_constant_decay as piecewise_constant_decay
from pinnace.compat.v1.decays import polynomial_decay as polynomial_decay
from pinnace.compat.v1.files import NewCheckpointReader as NewCheckpointReader
from pinnace.compat.v1.files import checkpoint_exists as checkpoint_exists
from pinnace.compat.v1.files import summary_iterator as summary_iterator
from pinnace.compat.v1.names import giver as _giver
from pinnace.compat.v1.names import lister as _lister
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

__getattr__ = _giver("tf.train", globals())
__dir__ = _lister("tf.train", globals())
