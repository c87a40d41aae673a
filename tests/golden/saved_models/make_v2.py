"""Writes more models of TensorFlow 2 beside itself; run with the Python that has it.

`python make_v2.py NAME...` writes only these. Each has `model/` and recorded calls, `io.npz`.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import ml_dtypes
import numpy as np
import tensorflow as tf

HERE = Path(__file__).parent
SEED = 20240607
SPREAD = np.random.default_rng(SEED)
Calls = list[tuple[str, dict[str, Any]]]


def numbers(*shape: int) -> np.ndarray:
    return SPREAD.standard_normal(shape).astype(np.float32)


def spec(*shape: int | None, dtype: Any = tf.float32, name: str | None = None) -> tf.TensorSpec:
    return tf.TensorSpec(shape, dtype, name)


class Detection(tf.Module):
    """A convolution, boxes and scores, and non-maximum suppression."""

    def __init__(self) -> None:
        self.kernel = tf.Variable(numbers(3, 3, 1, 6) * 0.5)

    @tf.function(input_signature=[spec(None, 8, 8, 1, name="image")])
    def detect(self, image: tf.Tensor) -> dict[str, tf.Tensor]:
        found = tf.nn.conv2d(image, self.kernel, 2, "SAME")
        found = tf.reshape(found, [tf.shape(image)[0], 16, 6])
        grid = tf.stack(tf.meshgrid(tf.range(4.0), tf.range(4.0), indexing="ij"), -1)
        middle = tf.reshape(grid, [16, 2]) / 4 + tf.tanh(found[..., :2]) * 0.1
        half = tf.sigmoid(found[..., 2:4]) * 0.3
        boxes = tf.concat([middle - half, middle + half], -1)
        scores = tf.sigmoid(found[..., 4:])
        kept = tf.image.combined_non_max_suppression(
            boxes[:, :, None], scores, 5, 8, 0.4, 0.3, clip_boxes=True
        )
        chosen, valid = tf.image.non_max_suppression_padded(
            boxes[0], scores[0, :, 0], 6, 0.5, 0.1, pad_to_max_output_size=True
        )
        best, order = tf.math.top_k(scores[..., 0], 3)
        crops = tf.image.crop_and_resize(image[:1], boxes[0, :2], [0, 0], [4, 4])
        return {
            "boxes": kept[0],
            "scores": kept[1],
            "classes": kept[2],
            "count": kept[3],
            "chosen": chosen,
            "valid": valid,
            "best": best,
            "order": order,
            "crops": crops,
        }


def detection() -> tuple[Any, Any, Calls]:
    model = Detection()
    return (
        model,
        model.detect,
        [("serving_default", {"image": numbers(n, 8, 8, 1)}) for n in (1, 3)],
    )


class Words(tf.Module):
    """Sentences to a score: splitting, a table with OOV buckets, ragged rows, embeddings."""

    def __init__(self) -> None:
        keys = tf.constant(["the", "cat", "sat", "on", "mat"])
        values = tf.range(5, dtype=tf.int64)
        start = tf.lookup.KeyValueTensorInitializer(keys, values)
        self.table = tf.lookup.StaticVocabularyTable(start, 3)
        self.embedding = tf.Variable(numbers(8, 4))

    @tf.function(input_signature=[spec(None, dtype=tf.string, name="text")])
    def score(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        plain = tf.strings.regex_replace(tf.strings.lower(text), r"[^\w\s]", "")
        tokens = tf.strings.split(plain)
        ids = tf.ragged.map_flat_values(self.table.lookup, tokens)
        rows = tf.ragged.map_flat_values(tf.nn.embedding_lookup, self.embedding, ids)
        grams = tf.strings.ngrams(tokens, 2, separator="_")
        return {
            "mean": tf.math.divide_no_nan(
                tf.reduce_sum(rows, 1), tf.cast(ids.row_lengths(), tf.float32)[:, None]
            ),
            "ids": ids.to_tensor(-1),
            "pairs": grams.to_tensor(""),
            "hash": tf.strings.to_hash_bucket_fast(text, 1000),
            "letters": tf.strings.unicode_decode(text, "UTF-8").to_tensor(),
        }


def words() -> tuple[Any, Any, Calls]:
    model = Words()
    texts = [["The cat sat.", "a dog on the mat!"], ["caf\u00e9 \u4f60\u597d the"]]
    calls = [("serving_default", {"text": np.array([t.encode() for t in row])}) for row in texts]
    return model, model.score, calls


class Vectorized(tf.Module):
    def __init__(self) -> None:
        layer = tf.keras.layers.TextVectorization(output_sequence_length=5)
        layer.adapt(["a b c b", "c d e", "e a"])
        self.layer = layer

    @tf.function(input_signature=[spec(None, dtype=tf.string, name="text")])
    def serve(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"ids": self.layer(text)}


def vectorized() -> tuple[Any, Any, Calls]:
    model = Vectorized()
    text = np.array([b"A b, zebra", b"", b"c c c c c c c"])
    return model, model.serve, [("serving_default", {"text": text})]


class Trainer(tf.Module):
    """A training step with dropout from given seeds, so that it can be compared."""

    def __init__(self) -> None:
        self.w = tf.Variable(numbers(3, 4), name="w")
        self.v = tf.Variable(numbers(4, 1), name="v")
        self.moments = [tf.Variable(tf.zeros_like(one)) for one in (self.w, self.v)]
        self.steps = tf.Variable(0, trainable=False)

    def forward(self, x: tf.Tensor, seed: Any = None) -> tf.Tensor:
        h = tf.nn.gelu(x @ self.w)
        if seed is not None:
            h = tf.nn.experimental.stateless_dropout(h, 0.4, seed)
        return h @ self.v

    @tf.function(input_signature=[spec(None, 3, name="x"), spec(None, 1, name="y")])
    def step(self, x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
        with tf.GradientTape() as tape:
            seed = tf.stack([self.steps, 7])
            loss = tf.reduce_mean(tf.square(self.forward(x, seed) - y))
        weights = [self.w, self.v]
        for weight, moment, dy in zip(
            weights, self.moments, tape.gradient(loss, weights), strict=True
        ):
            moment.assign(0.9 * moment + dy)
            weight.assign_sub(0.05 * moment)
        return {"loss": loss, "steps": self.steps.assign_add(1)}

    @tf.function(input_signature=[spec(None, 3, name="x")])
    def predict(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": self.forward(x)}


def trainer() -> tuple[Any, Any, Calls]:
    model = Trainer()
    x = numbers(8, 3)
    step = {"x": x, "y": np.sum(x, 1, keepdims=True)}
    calls: Calls = [("predict", {"x": x}), *[("step", step)] * 5, ("predict", {"x": x})]
    return model, {"step": model.step, "predict": model.predict}, calls


class Part(tf.Module):
    def __init__(self, scale: float) -> None:
        self.scale = tf.Variable(scale)

    @tf.function(input_signature=[spec(None)])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.scale


class Nested(tf.Module):
    """Nested modules, lists and dicts, shared children, nested arguments and results."""

    def __init__(self) -> None:
        self.first = Part(2.0)
        self.parts = [Part(3.0), {"deep": Part(5.0), "same": self.first}, (Part(7.0),)]
        self.by_name = {"a": self.parts[0], "b": [tf.Variable([1.0, 2.0])]}

    @tf.function
    def all(self, given: Any, power: int = 1, *, skip: bool = False) -> Any:
        x = given["x"][0] + given["y"]
        y = self.first(x) ** power
        if not skip:
            y += self.parts[1]["deep"](x) + self.parts[2][0](x)
        return {"sum": (y, [x, {"last": self.by_name["b"][0][0] * y}])}

    @tf.function(input_signature=[spec(None, name="x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        result = self.all({"x": (x,), "y": x})["sum"]
        return {"y": result[0], "last": result[1][1]["last"]}


def nested() -> tuple[Any, Any, Calls]:
    model = Nested()
    given = {"x": (tf.constant([1.0, 2.0]),), "y": tf.constant([0.5, 0.5])}
    model.all(given, 2)
    model.all(given, power=3, skip=True)
    return model, model.serve, [("serving_default", {"x": numbers(4)})]


class Halves(tf.Module):
    """Weights in bfloat16 and float16, sums in float32."""

    def __init__(self) -> None:
        self.w = tf.Variable(tf.cast(numbers(4, 8), tf.bfloat16))
        self.b = tf.Variable(tf.cast(numbers(8), tf.float16))

    @tf.function(input_signature=[spec(None, 4, name="x")])
    def serve(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        wide = x @ tf.cast(self.w, tf.float32) + tf.cast(self.b, tf.float32)
        return {"wide": wide, "narrow": tf.cast(x, tf.bfloat16) * tf.reduce_max(self.w)}


def halves() -> tuple[Any, Any, Calls]:
    model = Halves()
    return model, model.serve, [("serving_default", {"x": numbers(3, 4)})]


MODELS = {
    "detection": detection,
    "words": words,
    "vectorized": vectorized,
    "trainer": trainer,
    "nested": nested,
    "halves": halves,
}


def write(name: str) -> None:
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    model, signatures, calls = MODELS[name]()
    tf.saved_model.save(model, str(folder / "model"), signatures)
    shutil.rmtree(folder / "model" / "debug", ignore_errors=True)
    for kind in ("assets",):
        if not any((folder / "model" / kind).iterdir()):
            (folder / "model" / kind).rmdir()
    loaded = tf.saved_model.load(str(folder / "model"))
    recorded: dict[str, np.ndarray] = {}
    for number, (signature, inputs) in enumerate(calls):
        given = {key: tf.constant(as_fed(value)) for key, value in inputs.items()}
        results = loaded.signatures[signature](**given)
        for side, values in (("in", inputs), ("out", {k: v.numpy() for k, v in results.items()})):
            for key, value in values.items():
                recorded.update(stored(f"{number}/{signature}/{side}/{key}", np.asarray(value)))
    np.savez_compressed(folder / "io.npz", **recorded)


def stored(key: str, value: np.ndarray) -> dict[str, np.ndarray]:
    if value.dtype == ml_dtypes.bfloat16:
        return {f"{key}:bfloat16": value.view(np.uint16)}
    return {key: value.astype("S") if value.dtype == object else value}


def as_fed(value: np.ndarray) -> np.ndarray:
    return value.astype(object) if value.dtype.kind == "S" else value


if __name__ == "__main__":
    tf.random.set_seed(SEED)
    for one in sys.argv[1:] or MODELS:
        write(one)
