"""Three steps of training in mixed precision, from equal weights on both sides."""

from typing import Any


def _layers(tf: Any, kind: str) -> list[Any]:
    layers = tf.keras.layers
    if kind == "dense":
        return [tf.keras.Input((6,)), layers.Dense(8, activation="tanh")]
    if kind == "conv":
        conv = layers.Conv2D(4, 3, activation="relu")
        return [tf.keras.Input((6, 6, 2)), conv, layers.GlobalAveragePooling2D()]
    if kind == "normalized":
        return [tf.keras.Input((6,)), layers.Dense(8), layers.BatchNormalization()]
    return [tf.keras.Input((5, 4)), layers.LSTM(6)]


def trained(tf: Any, _: Any, policy: Any, kind: Any, x: Any, y: Any, numbers: Any) -> list[Any]:
    """Losses, weights and outputs; the loss scale."""
    tf.keras.mixed_precision.set_global_policy(policy.numpy().decode())
    try:
        last = [tf.keras.layers.Dense(3), tf.keras.layers.Activation("softmax", dtype="float32")]
        model = tf.keras.Sequential([*_layers(tf, kind.numpy().decode()), *last])
        left = numbers.numpy()
        values = []
        for weight in model.get_weights():
            values.append(abs(left[: weight.size].reshape(weight.shape)))
            left = left[weight.size :]
        model.set_weights(values)
        model.compile(tf.keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy")
        losses = [model.train_on_batch(x.numpy(), y.numpy()) for _ in range(3)]
        scale = getattr(model.optimizer, "dynamic_scale", None)
        return [
            tf.constant(losses),
            *map(tf.constant, model.get_weights()),
            tf.constant(model.predict(x.numpy(), verbose=0)),
            tf.constant(0.0 if scale is None else float(scale.numpy())),
        ]
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")


def scaled(tf: Any, _: Any, gradients: Any) -> list[Any]:
    """A variable, the scale and its counters after each step; some gradients are not finite."""
    optimizer = tf.keras.optimizers.LossScaleOptimizer(
        tf.keras.optimizers.SGD(1.0), initial_scale=8.0, dynamic_growth_steps=2
    )
    v = tf.Variable([1.0, 2.0])
    found = []
    for gradient in gradients.numpy():
        optimizer.apply([tf.constant(gradient)], [v])
        steps = (optimizer.dynamic_scale, optimizer.step_counter, optimizer.iterations)
        found += [tf.constant(v.numpy()), *(tf.constant(float(one.numpy())) for one in steps)]
    return [*found, optimizer.scale_loss(tf.constant(2.0))]
