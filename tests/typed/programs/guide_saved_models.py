"""A SavedModel written, loaded and called."""

import pinnace as tf


class Adder(tf.Module):
    """Adds all values that it has received."""

    def __init__(self) -> None:
        super().__init__()
        self.total = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def add(self, x: tf.Tensor) -> tf.Tensor:
        """The sum of all x so far, added to x."""
        self.total.assign_add(tf.reduce_sum(x))
        return self.total + x


adder = Adder()
tf.saved_model.save(adder, "adder/1", signatures={"serving_default": adder.add})
loaded = tf.saved_model.load("adder/1")
assert loaded.add(tf.constant([1.0, 2.0])).numpy().tolist() == [4.0, 5.0]
signature = loaded.signatures["serving_default"]
assert sorted(signature(x=tf.constant([10.0]))) == ["output_0"]
trusted = tf.saved_model.load("adder/1", options=tf.saved_model.LoadOptions(allow_io=True))
assert float(trusted.total) == 0.0
