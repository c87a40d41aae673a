"""Models with custom gradients: written by one library, differentiated by another.

`python gradient_models.py tensorflow|pinnace write|again|without|read FOLDER [TARGET]`; `read`
prints, as its last line, the outputs and gradients of each model.
"""

import json
import sys
from pathlib import Path
from typing import Any

if sys.argv[1] == "pinnace":
    import pinnace as tf
else:
    import tensorflow as tf

VECTOR = tf.TensorSpec([3], tf.float32)


class Clipped(tf.Module):
    """The gradient is clipped; the variable is outside the function."""

    def __init__(self) -> None:
        self.w = tf.Variable([1.0, -2.0, 3.0])

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        @tf.custom_gradient
        def clipped(x: Any) -> Any:
            return tf.tanh(x), lambda dy: tf.clip_by_value(dy, -0.1, 0.1)

        return 2.0 * clipped(x * self.w)


class Intermediate(tf.Module):
    """The gradient uses intermediate results."""

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        @tf.custom_gradient
        def squashed(x: Any) -> Any:
            half = tf.tanh(x) * 0.5
            low, high = tf.split(tf.concat([half, x], 0), 2)
            return low * low, lambda dy: dy * 3.0 * (1.0 - low * high)

        return squashed(x + 1.0)


class Inside(tf.Module):
    """The function itself reads variables, which have custom gradients."""

    def __init__(self) -> None:
        self.w = tf.Variable([1.0, -2.0, 3.0])
        self.b = tf.Variable(0.5)

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        @tf.custom_gradient
        def scaled(x: Any) -> Any:
            def back(dy: Any, variables: Any = None) -> Any:
                by = {"w": dy * x * 5.0, "b": tf.reduce_sum(dy) * 7.0}
                return dy * self.w * 2.0, [by["w" if v.shape.rank else "b"] for v in variables]

            return x * self.w + self.b, back

        return scaled(x)


class Outside(tf.Module):
    """Only the gradient uses a variable; it shares a tensor that was computed eagerly."""

    def __init__(self) -> None:
        self.scale = tf.Variable(4.0, trainable=False)
        self.offset = tf.constant([0.25, 0.5, 0.75]) * 2.0

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        @tf.custom_gradient
        def passed(x: Any) -> Any:
            return x - self.offset, lambda dy: dy * self.scale + self.offset

        return passed(x) * 2.0


class Several(tf.Module):
    """Two arguments, one of them integers; two results; one gradient is None."""

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        @tf.custom_gradient
        def both(x: Any, y: Any, n: Any) -> Any:
            def back(dx: Any, dy: Any) -> Any:
                return dx * 2.0 + dy, None, None

            return (x * y, x + tf.cast(n, tf.float32)), back

        first, second = both(x, x * 2.0, tf.constant([1, 2, 3]))
        return first + 10.0 * second


class Nested(tf.Module):
    """The node is in a function that the saved one calls."""

    @tf.function
    def inner(self, x: Any, times: Any) -> Any:
        @tf.custom_gradient
        def reversed_(x: Any) -> Any:
            kept = x * times
            return kept, lambda dy: -kept * dy

        return reversed_(x) * times

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        return self.inner(x * 2.0, 3.0) + self.inner(x, x)


class Swish(tf.Module):
    """A function of TensorFlow with a custom gradient."""

    def __init__(self) -> None:
        self.w = tf.Variable([1.0, -2.0, 3.0])

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        return tf.nn.silu(x * self.w)


class Rows(tf.Module):
    """The gradient of a variable is IndexedSlices."""

    def __init__(self) -> None:
        self.table = tf.Variable([[1.0], [2.0], [3.0], [4.0]])

    @tf.function(input_signature=[VECTOR])
    def __call__(self, x: Any) -> Any:
        @tf.custom_gradient
        def looked_up(x: Any) -> Any:
            rows = tf.constant([2, 0, 2])

            def back(dy: Any, variables: Any = None) -> Any:
                (table,) = variables
                values = tf.reshape(dy, [3, 1]) * 11.0
                slices = tf.IndexedSlices(values, rows, tf.constant(table.shape.as_list()))
                return dy * 3.0, [slices]

            return x * tf.gather(self.table, rows)[:, 0], back

        return looked_up(x)


MODELS = {
    kind.__name__: kind
    for kind in (Clipped, Intermediate, Inside, Outside, Several, Nested, Swish, Rows)
}


def outcome(model: Any) -> dict[str, Any]:
    """A model's outputs, and its gradients by the input and by its variables."""
    x = tf.constant([0.5, -1.5, 2.0])
    names = sorted(name for name in ("b", "scale", "table", "w") if hasattr(model, name))
    variables = [getattr(model, name) for name in names]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = model(x)
    found = tape.gradient(y, [x, *variables], output_gradients=tf.constant([1.0, 2.0, -3.0]))
    dense = [None if one is None else tf.convert_to_tensor(one).numpy().tolist() for one in found]
    return {"y": y.numpy().tolist(), **dict(zip(["x", *names], dense, strict=True))}


def main(action: str, folder: Path, target: str = "") -> None:
    """Do one of the actions with all models."""
    found: dict[str, Any] = {}
    for name, kind in MODELS.items():
        place = str(folder / name)
        if action == "write":
            tf.saved_model.save(kind(), place)
        elif action == "without":
            options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
            tf.saved_model.save(kind(), place, options=options)
        elif action == "again":
            tf.saved_model.save(tf.saved_model.load(place), str(Path(target) / name))
        else:
            try:
                found[name] = outcome(tf.saved_model.load(place))
            except LookupError as error:
                found[name] = f"LookupError: {str(error).partition(chr(10))[0]:.300}"
    print(json.dumps(found))  # noqa: T201 (the results)


if __name__ == "__main__":
    main(sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
