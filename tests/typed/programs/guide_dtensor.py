"""Tensors on a mesh: layouts, parts, a function, a variable and a dataset."""

import pinnace as tf
from pinnace.experimental import dtensor

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 6)
mesh = dtensor.create_mesh([("x", 3), ("y", 2)])
assert mesh.shape() == [3, 2]
rows = dtensor.Layout(["x", dtensor.UNSHARDED], mesh)
given = dtensor.copy_to_mesh(tf.reshape(tf.range(6.0), [3, 2]), rows)
assert [part.shape.as_list() for part in dtensor.unpack(given)] == [[1, 2]] * 6
weight = dtensor.DVariable(
    dtensor.call_with_layout(tf.ones, dtensor.Layout([dtensor.UNSHARDED, "y"], mesh), [2, 2])
)


@tf.function
def step(x: tf.Tensor) -> tf.Tensor:
    """One step, and the loss before it."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, weight) ** 2)
    weight.assign_sub(0.01 * tape.gradient(loss, weight))
    return loss


losses = [float(step(given)) for _ in range(2)]
assert losses[1] < losses[0]
assert weight.layout.sharding_specs == [dtensor.UNSHARDED, "y"]
whole = dtensor.relayout(weight.value(), dtensor.Layout.replicated(mesh, 2))
assert whole.numpy().shape == (2, 2)
batches = dtensor.DTensorDataset(
    tf.data.Dataset.range(12),
    mesh=mesh,
    layouts=dtensor.Layout(["x"], mesh),
    global_batch_size=6,
    batch_dim="x",
)
assert sum(1 for _ in batches) == 2
