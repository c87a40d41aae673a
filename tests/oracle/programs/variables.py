"""Variables and ops that change them in place, as raw ops."""

from typing import Any


def assigned(tf: Any, ops: Any, x: Any, y: Any) -> list[Any]:
    """x + y - x / 2 computed with a variable, and its shape."""
    v = tf.Variable(y)
    ops.AssignVariableOp(resource=v.handle, value=x)
    ops.AssignAddVariableOp(resource=v.handle, value=y)
    ops.AssignSubVariableOp(resource=v.handle, value=x / 2)
    ops.DisableCopyOnRead(resource=v.handle)
    return [
        ops.VarIsInitializedOp(resource=v.handle),
        ops.ReadVariableOp(resource=v.handle, dtype=x.dtype),
        ops.VariableShape(input=v.handle, out_type=tf.int64),
    ]


def gathered(tf: Any, ops: Any, x: Any, _: Any, rows: Any) -> list[Any]:
    """Rows of a variable, and elements."""
    v = tf.Variable(x)
    places = tf.stack([rows, tf.zeros_like(rows)], -1)
    return [
        ops.ResourceGather(resource=v.handle, indices=rows, dtype=x.dtype),
        ops.ResourceGatherNd(resource=v.handle, indices=places, dtype=x.dtype),
    ]


def scattered(tf: Any, ops: Any, x: Any, y: Any, rows: Any) -> list[Any]:
    """The value of a variable after each scatter op."""
    updates = tf.gather(y, rows)
    places = tf.expand_dims(rows, -1)
    found = []
    for name in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
        v = tf.Variable(x)
        scatter = getattr(ops, f"ResourceScatter{name}")
        scatter(resource=v.handle, indices=rows, updates=updates)
        found.append(v.read_value())
    for name in ("Add", "Sub", "Min", "Max", "Update"):
        v = tf.Variable(x)
        getattr(ops, f"ResourceScatterNd{name}")(ref=v.handle, indices=places, updates=updates)
        found.append(v.read_value())
    return found


def sliced(tf: Any, ops: Any, x: Any, y: Any) -> list[Any]:
    """A variable with one assigned row."""
    v = tf.Variable(x)
    ops.ResourceStridedSliceAssign(
        ref=v.handle,
        begin=tf.constant([1]),
        end=tf.constant([2]),
        strides=tf.constant([1]),
        value=y[0],
        shrink_axis_mask=1,
    )
    return [v.read_value()]


def trained(tf: Any, ops: Any, x: Any, y: Any) -> list[Any]:
    """Variables after steps of optimizers."""

    def number(value: float) -> Any:
        return tf.constant(value, x.dtype)

    plain, heavy, moving = (tf.Variable(x) for _ in range(3))
    speed, mean, square = (tf.Variable(tf.zeros_like(x)) for _ in range(3))
    for step in (1, 2):
        ops.ResourceApplyGradientDescent(var=plain.handle, alpha=number(0.5), delta=y)
        ops.ResourceApplyKerasMomentum(
            var=heavy.handle,
            accum=speed.handle,
            lr=number(0.5),
            grad=y,
            momentum=number(0.75),
            use_nesterov=True,
        )
        ops.ResourceApplyAdam(
            var=moving.handle,
            m=mean.handle,
            v=square.handle,
            beta1_power=number(0.5**step),
            beta2_power=number(0.75**step),
            lr=number(0.125),
            beta1=number(0.5),
            beta2=number(0.75),
            epsilon=number(1e-3),
            grad=y,
        )
    return [v.read_value() for v in (plain, heavy, speed, moving, mean, square)]
