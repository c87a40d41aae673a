"""Models that pinnace writes, one for each possible content of a SavedModel; see `corpus.py`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pinnace as tf

RNG = np.random.default_rng(7)
Call = tuple[str, dict[str, NDArray[Any]]]
Made = tuple[Any, Any, list[Call]]


def numbers(*shape: int) -> NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(np.float32)


def spec(*shape: int | None, dtype: Any = tf.float32, name: str | None = None) -> Any:
    return tf.TensorSpec(list(shape), dtype, name)


def dense_layers(_: Path) -> Made:
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(2)]
    )
    x = numbers(5, 3)
    model(tf.constant(x))
    return model, None, [("serving_default", {"inputs": x})]


class Flow(tf.Module):
    """Nested conditions and loops, tensor lists, TensorArrays."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(numbers(3, 3) * 0.3)
        self.calls = tf.Variable(0)

    @tf.function(input_signature=[spec(None, 3, name="x"), spec(dtype=tf.int32, name="n")])
    def run(self, x: Any, n: Any) -> dict[str, Any]:
        def turn(i: Any, h: Any) -> Any:
            step = tf.cond(i % 2 == 0, lambda: tf.tanh(h @ self.w), lambda: h + x)
            return i + 1, step

        _, h = tf.while_loop(lambda i, _: i < n, turn, [tf.constant(0), x])
        kept = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[None, 3])
        for i in tf.range(n):
            kept = kept.write(i, h * tf.cast(i, tf.float32))
        which = tf.switch_case(n % 3, [lambda: h, lambda: h * 2.0, lambda: -h])
        self.calls.assign_add(1)
        return {"h": h, "kept": kept.stack(), "which": which, "calls": self.calls.read_value()}


def control_flow(_: Path) -> Made:
    model = Flow()
    calls = [{"x": numbers(2, 3), "n": np.int32(n)} for n in (1, 4, 5)]
    return model, model.run, [("serving_default", call) for call in calls]


class Gradient(tf.Module):
    """A custom gradient inside a training step."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([1.0, 2.0])

    @tf.function(input_signature=[spec(2, name="x")])
    def step(self, x: Any) -> dict[str, Any]:
        @tf.custom_gradient
        def clipped(y: Any) -> Any:
            return y * 3.0, lambda dy: tf.clip_by_value(dy, -0.5, 0.5)

        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(clipped(self.w * x) ** 2)
        dy = tape.gradient(loss, self.w)
        self.w.assign_sub(0.1 * dy)
        return {"loss": loss, "dy": dy}


def custom_gradient(_: Path) -> Made:
    model = Gradient()
    return model, model.step, [("serving_default", {"x": numbers(2)})] * 3


class Lookup(tf.Module):
    """A table from a file, a mutable one, string inputs and outputs."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        file = folder / "words.txt"
        file.write_text("one\ntwo\nthree\n")
        start = tf.lookup.TextFileInitializer(
            str(file),
            *(tf.string, tf.lookup.TextFileIndex.WHOLE_LINE),
            *(tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER),
        )
        self.words = tf.lookup.StaticHashTable(start, -1)
        self.seen = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
        self.seen.insert(tf.constant(["one"]), tf.constant([41], tf.int64))

    @tf.function(input_signature=[spec(None, dtype=tf.string, name="words")])
    def find(self, words: Any) -> dict[str, Any]:
        counts = self.seen.lookup(words) + 1
        self.seen.insert(words, counts)
        return {"ids": self.words.lookup(words), "counts": counts, "upper": tf.strings.upper(words)}


def tables_and_assets(folder: Path) -> Made:
    model = Lookup(folder)
    words = np.array([b"one", b"three", b"none"])
    return model, model.find, [("serving_default", {"words": words})] * 2


class Several(tf.Module):
    """Signatures that share variables, a method with Python arguments and nested results."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = [tf.Variable([1.0, 2.0]), {"b": tf.Variable(3.0)}]

    @tf.function(input_signature=[spec(None, 2, name="x")])
    def scale(self, x: Any) -> dict[str, Any]:
        return {"z": x * self.parts[0], "a": x + self.parts[1]["b"]}

    @tf.function(input_signature=[spec(None, 2, name="x"), spec(name="by")])
    def learn(self, x: Any, by: Any) -> dict[str, Any]:
        return {"sum": tf.reduce_sum(x), "b": self.parts[1]["b"].assign_add(by)}

    @tf.function
    def power(self, x: Any, times: int = 2, *, negate: bool = False) -> Any:
        y = x**times
        return {"y": -y if negate else y, "more": (x, [self.parts[0]])}


def several_signatures(_: Path) -> Made:
    model = Several()
    x = numbers(3, 2)
    for extra in ({}, {"times": 3}, {"times": 3, "negate": True}):
        model.power(tf.constant(x), **extra)
    calls: list[Call] = [
        ("scale", {"x": x}),
        ("learn", {"x": x, "by": np.float32(2)}),
        ("scale", {"x": x}),
        ("@power", {"x": x}),
        ("@power", {"x": x, "times": np.int64(3), "negate": np.bool_(True)}),
    ]
    return model, {"scale": model.scale, "learn": model.learn}, calls


def recurrent(kind: str) -> Callable[[Path], Made]:
    def make(_: Path) -> Made:
        layers = tf.keras.layers
        layer: Any = {
            "lstm": lambda: layers.LSTM(5, return_sequences=True),
            "gru": lambda: layers.GRU(5),
            "both": lambda: layers.Bidirectional(layers.LSTM(4)),
            "masked": lambda: layers.SimpleRNN(4),
        }[kind]()
        first = [layers.Masking(0.0)] if kind == "masked" else []
        model = tf.keras.Sequential([tf.keras.Input((6, 3)), *first, layer, layers.Dense(2)])
        x = numbers(4, 6, 3)
        x[:, 4:] = 0
        return model, None, [("serving_default", {"inputs": x})]

    return make


class Rows(tf.Module):
    @tf.function(input_signature=[spec(None, name="values"), spec(None, dtype=tf.int64, name="n")])
    def sums(self, values: Any, n: Any) -> dict[str, Any]:
        rows = tf.RaggedTensor.from_row_lengths(values, n)
        return {"sums": tf.reduce_sum(rows, 1), "full": rows.to_tensor(-1.0)}

    @tf.function
    def ragged(self, rows: Any) -> Any:
        return rows * 2.0

    @tf.function
    def sparse(self, matrix: Any) -> Any:
        return tf.sparse.to_dense(matrix) + 1.0


def ragged_and_sparse(_: Path) -> Made:
    model = Rows()
    rows = tf.RaggedTensor.from_row_lengths(tf.constant([1.0, 2.0, 3.0]), [2, 0, 1])
    matrix = tf.sparse.SparseTensor([[0, 1], [2, 0]], tf.constant([1.0, 2.0]), [3, 2])
    model.ragged.get_concrete_function(tf.RaggedTensorSpec([None, None], tf.float32))
    model.sparse.get_concrete_function(tf.SparseTensorSpec([None, 2], tf.float32))
    del rows, matrix
    values = {"values": numbers(4), "n": np.array([1, 0, 3])}
    return model, model.sums, [("serving_default", values)]


class Kinds(tf.Module):
    """Weights and results of many dtypes."""

    KINDS = ("float16", "bfloat16", "float64", "int8", "int64", "uint8", "bool", "complex64")

    def __init__(self) -> None:
        super().__init__()
        self.held = [tf.Variable(tf.cast([1, 0, 1], kind)) for kind in self.KINDS]

    @tf.function(input_signature=[spec(3, name="x")])
    def cast(self, x: Any) -> dict[str, Any]:
        return {
            kind: held if kind == "bool" else held + tf.cast(tf.abs(x), kind)
            for kind, held in zip(self.KINDS, self.held, strict=True)
        }


def dtypes(_: Path) -> Made:
    model = Kinds()
    return model, model.cast, [("serving_default", {"x": np.float32([1, -2, 3])})]


MODELS: dict[str, Callable[[Path], Made]] = {
    "dense_layers": dense_layers,
    "control_flow": control_flow,
    "custom_gradient": custom_gradient,
    "tables_and_assets": tables_and_assets,
    "several_signatures": several_signatures,
    "lstm": recurrent("lstm"),
    "gru": recurrent("gru"),
    "bidirectional": recurrent("both"),
    "masked_rnn": recurrent("masked"),
    "ragged_and_sparse": ragged_and_sparse,
    "dtypes": dtypes,
}

# Models for whose ops TFLite has no kernel.
LITE_REFUSES = {
    "control_flow": "Case and lists of tensors of unknown length",
    "tables_and_assets": "tables that change, string ops",
    "dtypes": "arithmetic in some dtypes",
    "lstm": "lists of tensors of unknown length",
    "ragged_and_sparse": "ragged rows of unknown length",
}


def write(name: str, folder: Path) -> tuple[Path, Path]:
    """Save a model with its outputs here; returns the folder and the recorded calls."""
    folder.mkdir(parents=True)
    model, signatures, calls = MODELS[name](folder)
    target = folder / "model"
    tf.saved_model.save(model, str(target), signatures=signatures)
    loaded = tf.saved_model.load(str(target))
    recorded: dict[str, NDArray[Any]] = {}
    for number, (signature, inputs) in enumerate(calls):
        if signature[:1] == "@":
            given = {k: _python(v) for k, v in inputs.items()}
            flat = tf.nest.flatten(getattr(loaded, signature[1:])(**given))
            results = {str(k): _array(value) for k, value in enumerate(flat)}
        else:
            function = loaded.signatures[signature]
            names = list(function.structured_input_signature[1])
            if list(inputs) == ["inputs"]:  # a Keras model's only input, whatever its name
                inputs = {names[0]: inputs["inputs"]}
            found = function(**{key: tf.constant(value) for key, value in inputs.items()})
            results = {key: _array(value) for key, value in found.items()}
        for side, values in (("in", inputs), ("out", results)):
            for key, value in values.items():
                recorded.update(_stored(f"{number}/{signature}/{side}/{key}", np.asarray(value)))
    np.savez(folder / "io.npz", **recorded)  # type: ignore[arg-type]  # the stubs mean `file=`
    return target, folder / "io.npz"


def _python(value: NDArray[Any]) -> Any:
    return value.item() if value.ndim == 0 else tf.constant(value)


def _array(value: Any) -> NDArray[Any]:
    return np.asarray(value.numpy())


def _stored(key: str, value: NDArray[Any]) -> dict[str, NDArray[Any]]:
    if value.dtype.name == "bfloat16":
        return {f"{key}:bfloat16": value.view(np.uint16)}
    if "/in/" in key and "/@" in key and value.ndim == 0:
        return {f"{key}:py": value}
    return {key: value.astype("S") if value.dtype == object else value}
