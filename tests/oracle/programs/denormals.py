"""Numbers around the smallest normal one, bit for bit: which ones a function flushes."""

from typing import Any


def traced(tf: Any, _: Any, x: Any) -> list[Any]:
    """Denormal arguments and results, of which only the sign remains, among others."""

    @tf.function
    def run(x: Any, tiny: Any) -> list[Any]:
        found = [x * tiny, tiny / x, tf.square(x * tiny), tf.sqrt(tf.abs(x * tiny))]
        # The sign of a zero from a maximum is unspecified.
        found += [tf.abs(tf.maximum(x * tiny, 0.0)), tf.abs(tf.nn.relu(x * tiny))]
        found += [tf.where(x * tiny > 0.0, 1.0, 0.0), tf.where(tf.equal(tiny, 0.0), x, 1.0)]
        return [*found, tf.concat([tiny, tiny], 0), tf.transpose(tiny), tiny[::-1]]

    found = []
    # The smallest normal number is 2 ** -126: results on both sides of it, and denormal inputs.
    for exponent in (-120, -126, -130, -140):
        found += run(x, tf.fill(tf.shape(x), tf.constant(2.0**exponent, tf.float32)))
    return [tf.bitcast(one, tf.int32) for one in found]


def trained(tf: Any, ops: Any, x: Any) -> list[Any]:
    """Adam's slots with gradients whose squares are denormal, and slots that decay to zero."""
    variable, m, v = tf.Variable(x), tf.Variable(x * 0.0), tf.Variable(x * 0.0)

    @tf.function
    def step(gradient: Any) -> None:
        ops.ResourceApplyAdam(
            var=variable.handle,
            m=m.handle,
            v=v.handle,
            beta1_power=0.5,
            beta2_power=0.5,
            lr=0.125,
            beta1=0.5,
            beta2=0.5,
            epsilon=0.0625,
            grad=gradient,
            use_locking=False,
            use_nesterov=False,
        )

    found = []
    for exponent in (-10, -62, -64, -100, -125, -200):
        for _ in range(3):
            step(tf.constant(2.0**exponent, tf.float32) * x)
        found += [variable.read_value(), m.read_value(), v.read_value()]
    for _ in range(40):
        step(x * 0.0)
    found += [m.read_value(), v.read_value()]
    return [tf.where(tf.abs(one) > 0.0, 1, 0) for one in found] + found
