"""`tf.compat.v1.tpu`, including names of the former `tf.contrib.tpu`."""

from pinnace.estimator.tpu import CrossShardOptimizer as CrossShardOptimizer
from pinnace.estimator.tpu import InputPipelineConfig as InputPipelineConfig
from pinnace.estimator.tpu import RunConfig as RunConfig
from pinnace.estimator.tpu import TPUConfig as TPUConfig
from pinnace.estimator.tpu import TPUEstimator as TPUEstimator
from pinnace.estimator.tpu import TPUEstimatorSpec as TPUEstimatorSpec
