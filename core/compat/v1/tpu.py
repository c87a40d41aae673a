"""`tf.compat.v1.tpu`."""

from pinnace.estimator.tpu import CrossShardOptimizer as CrossShardOptimizer
