"""Models that TensorFlow builds, saves and runs; its results are compared with the loaded model's.

They run only in TensorFlow's process, which alone can build ops of version 1.
"""

from pathlib import Path
from typing import Any


def _saved(tf: Any, folder: Any, build: Any, *arrays: Any) -> list[Any]:
    """The results of a graph of version 1, which is saved in the folder with inputs x0, x1 ..."""
    v1 = tf.compat.v1
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            inputs = {f"x{i}": v1.placeholder(a.dtype, a.shape) for i, a in enumerate(arrays)}
            outputs = {f"y{i}": y for i, y in enumerate(build(*inputs.values()))}
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            signature = v1.saved_model.predict_signature_def(inputs, outputs)
            builder = v1.saved_model.Builder(folder.numpy().decode())
            builder.add_meta_graph_and_variables(
                session,
                ["serve"],
                {"serving_default": signature},
                assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
                main_op=v1.tables_initializer(),
            )
            builder.save()
            given = {inputs[f"x{i}"]: a.numpy() for i, a in enumerate(arrays)}
            found = session.run(outputs, given)
    finally:
        v1.enable_control_flow_v2()
    return [tf.constant(found[name]) for name in outputs]


def loops(tf: Any, _: Any, folder: Any, x: Any, y: Any) -> list[Any]:
    """A loop of frames, a condition of Switch and Merge, and variables of the first version."""

    def build(x: Any, y: Any) -> list[Any]:
        v1 = tf.compat.v1
        weight = v1.get_variable("weight", initializer=tf.ones_like(x) * 2, use_resource=False)
        handle = v1.get_variable("handle", initializer=tf.ones_like(x) * 3, use_resource=True)
        count, z = v1.while_loop(
            lambda i, z: tf.logical_and(i < 5, tf.reduce_sum(z) < 1e3),
            lambda i, z: (i + 1, z * weight + y),
            [tf.constant(0), x],
        )
        total = tf.reduce_sum(z)
        return [count, z, v1.cond(total > 0, lambda: z * handle, lambda: z - y)]

    return _saved(tf, folder, build, x, y)


def arrays(tf: Any, _: Any, folder: Any, x: Any, y: Any) -> list[Any]:
    """TensorArrays, written in a loop, scattered, split, and concatenated."""

    def build(x: Any, y: Any) -> list[Any]:
        rows = int(x.shape[0])
        squares = tf.compat.v1.while_loop(
            lambda i, _: i < rows,
            lambda i, array: (i + 1, array.write(i, x[i] * y[i])),
            [tf.constant(0), tf.TensorArray(x.dtype, rows, clear_after_read=False)],
        )[1]
        turned = tf.TensorArray(x.dtype, 0, dynamic_size=True, clear_after_read=False).scatter(
            list(range(rows))[::-1], x
        )
        cut = tf.TensorArray(x.dtype, 2, clear_after_read=False, infer_shape=False).split(
            x, [1, rows - 1]
        )
        with tf.control_dependencies([cut.read(1)]):
            sizes = tf.identity(turned.size())
        last = turned.read(rows - 1)
        with tf.control_dependencies([last, sizes]):
            closed = turned.close()
        with tf.control_dependencies([closed]):
            done = tf.identity(last)
        return [
            squares.stack(),
            squares.gather([rows - 1, 0]),
            tf.reshape(cut.concat(), x.shape),
            sizes,
            done,
        ]

    return _saved(tf, folder, build, x, y)


def stacked(tf: Any, _: Any, folder: Any, x: Any, y: Any) -> list[Any]:
    """The gradient of a loop: values of each iteration are pushed, and popped backward."""

    def build(x: Any, y: Any) -> list[Any]:
        v1, raw = tf.compat.v1, tf.raw_ops
        _, z = v1.while_loop(
            lambda i, _: i < 3, lambda i, z: (i + 1, z * x + y), [tf.constant(0), x]
        )
        handle = raw.StackV2(max_size=2, elem_type=x.dtype)
        pushed = raw.StackPushV2(handle=handle, elem=x * y)
        with tf.control_dependencies([pushed]):
            popped = raw.StackPopV2(handle=handle, elem_type=x.dtype)
        with (
            tf.control_dependencies([popped]),
            tf.control_dependencies([raw.StackCloseV2(handle=handle)]),
        ):
            closed = tf.identity(popped)
        return [z, *v1.gradients(z, [x, y]), tf.reshape(closed, x.shape)]

    return _saved(tf, folder, build, x, y)


def vocabulary(tf: Any, _: Any, folder: Any, words: Any) -> list[Any]:
    """A table that one of the model's assets fills."""
    path = Path(folder.numpy().decode() + ".txt")
    path.write_text("\n".join(f"w{n}\t{n * n}" for n in range(5)))

    def build(words: Any) -> list[Any]:
        lines = tf.lookup.TextFileInitializer(str(path), tf.string, 0, tf.int64, 1)
        table = tf.lookup.StaticHashTable(lines, -1)
        return [table.lookup(words), table.size()]

    return _saved(tf, folder, build, words)


def gradient_of_branches(tf: Any, _: Any, folder: Any, x: Any, y: Any) -> list[Any]:
    """The gradient of a condition, whose branches have placeholders for each other's values."""

    class Model(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec(a.shape, a.dtype) for a in (x, y)])
        def __call__(self, x0: Any, x1: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x0)
                z = tf.cond(
                    tf.reduce_sum(x0) > 0,
                    lambda: tf.sin(tf.exp(x0 * 0.1)) * x1,
                    lambda: tf.tanh(x0 * x1) + tf.square(x0),
                )
            return {"y0": z, "y1": tape.gradient(z, x0)}

    model = Model()
    tf.saved_model.save(model, folder.numpy().decode())
    found = model(x, y)
    return [found["y0"], found["y1"]]


def batched(tf: Any, _: Any, folder: Any, x: Any, y: Any) -> list[Any]:
    """Functions that batch the calls of several threads, one with its own variable."""
    weight = tf.Variable(tf.ones([], x.dtype) * 3)

    @tf.nondifferentiable_batch_function(1, 8, 1000, allowed_batch_sizes=[4, 8])  # type: ignore[misc]
    def added(x: Any, y: Any) -> Any:
        return x + tf.reduce_sum(y, 1, keepdims=True), tf.square(y)

    @tf.nondifferentiable_batch_function(1, 8, 1000)  # type: ignore[misc]
    def scaled(x: Any) -> Any:
        return x * weight

    class Model(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.weight = weight

        @tf.function(input_signature=[tf.TensorSpec(a.shape, a.dtype) for a in (x, y)])
        def __call__(self, x0: Any, x1: Any) -> Any:
            first, second = added(x0, x1)
            return {"y0": first, "y1": second, "y2": scaled(x0)}

    model = Model()
    tf.saved_model.save(model, folder.numpy().decode())
    found = model(x, y)
    return [found["y0"], found["y1"], found["y2"]]
