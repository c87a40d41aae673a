"""Several replicas: a strategy, a custom loop, values and variables."""

import pinnace as tf

strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/CPU:1"])
assert strategy.num_replicas_in_sync == 2
with strategy.scope():
    weight = tf.Variable([[1.0], [1.0]])
    optimizer = tf.keras.optimizers.SGD(0.1)
    mean = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)


def step(x: tf.Tensor) -> tf.Tensor:
    """One step of one replica."""
    context = tf.distribute.get_replica_context()
    assert context is not None
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, weight) ** 2) / 4.0
    optimizer.apply_gradients([(tape.gradient(loss, weight), weight)])
    mean.assign(tf.cast(context.replica_id_in_sync_group, tf.float32))
    total: tf.Tensor = context.all_reduce(tf.distribute.ReduceOp.SUM, loss)
    return total


rows = tf.data.Dataset.from_tensor_slices(tf.ones([4, 2])).batch(4)
for batch in strategy.experimental_distribute_dataset(rows):
    losses = strategy.run(step, args=(batch,))
    assert float(strategy.reduce("MEAN", losses, axis=None)) == 4.0
    assert len(strategy.experimental_local_results(losses)) == 2
assert float(mean.numpy()) == 0.5
