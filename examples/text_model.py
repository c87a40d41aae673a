"""Sentences to a mood: trained, saved, exported, and asked as a phone or a browser would.

ONNX has no operators that take text apart, so that `cut_strings` leaves this outside: beside
`mood.onnx` stand `mood.tokenizer.json` and two programs that run it, `tokenizer.py` and
`tokenizer.js`. `js_node/ask.mjs` asks the same files in Node.

python examples/text_model.py [FOLDER]   # the folder is ./mood
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

import pinnace as tf
from pinnace.deploy import onnx

if TYPE_CHECKING:
    from types import ModuleType

SENTENCES = {
    "good": [
        "What a lovely evening!",
        "I like this place, it is great.",
        "Great food and friendly people",
        "A wonderful, friendly town",
        "We had a lovely walk by the sea",
        "This is the best bread I know",
    ],
    "bad": [
        "What an awful evening!",
        "I hate this place, it is terrible.",
        "Terrible food and rude people",
        "A dirty, noisy town",
        "We had an awful walk in the rain",
        "This is the worst bread I know",
    ],
}
MOODS = list(SENTENCES)
ASKED = ["A great, LOVELY town!", "Rude people; terrible rain."]


def train() -> tf.keras.Model:
    """A model from texts [b, 1] to a probability for each mood."""
    tf.keras.utils.set_random_seed(0)
    texts = np.array([[text] for group in SENTENCES.values() for text in group])
    moods = np.repeat(np.arange(len(MOODS)), [len(group) for group in SENTENCES.values()])
    words = tf.keras.layers.TextVectorization(output_sequence_length=12)
    words.adapt(texts)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((1,), dtype="string", name="text"),
            words,
            tf.keras.layers.Embedding(words.vocabulary_size(), 8),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(len(MOODS), activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy")
    model.optimizer.learning_rate.assign(0.05)
    model.fit(tf.constant(texts), moods, epochs=60, verbose=0)
    return model


def copied(path: Path) -> ModuleType:
    """The program that was written beside the model: it needs nothing of pinnace."""
    spec = importlib.util.spec_from_file_location("tokenizer", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Train, export, ask."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "mood")
    folder.mkdir(exist_ok=True)
    model = train()
    report = onnx.export(model, folder / "mood.onnx", cut_strings=True)
    print(f"{report.path} takes {', '.join(f'{k} {v.text}' for k, v in report.inputs.items())}")

    tokenizer = copied(folder / "tokenizer.py").Tokenizer.load(folder / "mood.tokenizer.json")
    numbers: dict[str, Any] = tokenizer(text=[[text] for text in ASKED])
    feeds = {name: np.array(t.data, t.dtype).reshape(t.shape) for name, t in numbers.items()}
    (found,) = onnxruntime.InferenceSession(report.path).run(None, feeds)
    for text, row in zip(ASKED, found, strict=True):
        print(f"{text} -> {MOODS[row.argmax()]} ({row.max():.2f})")


if __name__ == "__main__":
    main()
