"""`tf.distribute.cluster_resolver`: there is one process, and nothing to resolve yet."""
