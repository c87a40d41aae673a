"""The names of version 1 that model functions of estimators are written with.

Nothing here is global: the optimizers and the global step belong to the model function that runs,
and placeholders to a request. Sessions and the default graph are not there.
"""

from pinnace import estimator as estimator
from pinnace.compat.v1 import tpu as tpu
from pinnace.compat.v1 import train as train
from pinnace.estimator.receivers import placeholder as placeholder
from pinnace.ops.random.stateful import normal as random_normal
from pinnace.ops.random.stateful import uniform as random_uniform

__all__ = ["estimator", "placeholder", "random_normal", "random_uniform", "tpu", "train"]
