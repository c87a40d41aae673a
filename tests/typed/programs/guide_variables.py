"""Variables and modules."""

import pinnace as tf


class Scale(tf.Module):
    """x times a factor that can be trained."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = tf.Variable(factor, name="factor")

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.factor


scale = Scale(2.0)
scale.factor.assign_add(1.0)
assert float(scale(tf.constant(2.0))) == 6.0
assert [v.name for v in scale.trainable_variables] == ["factor:0"]
weights = tf.Variable([1.0, 2.0, 3.0], trainable=False)
weights[0].assign(10.0)
assert weights.shape == (3,)
assert weights.numpy().tolist() == [10.0, 2.0, 3.0]
