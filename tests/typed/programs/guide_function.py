"""Traced functions keep the signatures of the functions that they wrap."""

import pinnace as tf


@tf.function
def collatz(n: tf.Tensor) -> tf.Tensor:
    """Steps until n is 1."""
    steps = tf.constant(0)
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def mean_and_size(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The mean of x, and how many numbers it has."""
    return tf.reduce_mean(x), tf.size(x)


@tf.function(reduce_retracing=True)
def is_long(x: tf.Tensor) -> bool:
    """A Python bool becomes a tensor."""
    return len(x) > 2


class Counter(tf.Module):
    """Sums its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.count = tf.Variable(0)

    @tf.function
    def add(self, by: tf.Tensor, times: int = 1) -> tf.Tensor:
        """The new count."""
        self.count.assign_add(by * times)
        return self.count.read_value()


steps: tf.Tensor = collatz(tf.constant(27))
assert int(steps) == 111
mean, size = mean_and_size(tf.constant([1.0, 2.0, 6.0]))
assert (float(mean), int(size)) == (3.0, 3)
assert is_long(tf.constant([1, 2, 3])).numpy()
counter = Counter()
counter.add(tf.constant(2))
assert int(counter.add(tf.constant(2), times=3)) == 8
concrete = collatz.get_concrete_function(tf.TensorSpec([], tf.int32))
assert int(concrete(tf.constant(6))) == 8
assert collatz.experimental_get_tracing_count() == 1
