"""Text in `fit`, `evaluate`, `predict` and calls: equal results for every container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pinnace as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = ["a", "b", "?", "a"]
COLUMNS = {
    "objects": lambda: np.array(TEXTS, object),
    "objects in rows": lambda: np.array([[text] for text in TEXTS], object),
    "NumPy's own": lambda: np.array(TEXTS),
    "a list": lambda: list(TEXTS),
    "pandas object": lambda: pd.Series(TEXTS, dtype=object),
    "pandas str": lambda: pd.Series(TEXTS, dtype="str"),
    "pandas string": lambda: pd.Series(TEXTS, dtype="string"),
    "pandas category": lambda: pd.Series(TEXTS, dtype="category"),
    "a frame": lambda: pd.DataFrame({"only": TEXTS}),
    "Polars": lambda: pl.Series(TEXTS),
    "Arrow": lambda: pa.array(TEXTS),
}
every_column = pytest.mark.parametrize("kind", COLUMNS)


def embedding_of_text() -> Any:
    """A weight per word: unknown, a, b."""
    x = tf.keras.Input((1,), dtype="string", name="word")
    numbers = tf.keras.layers.StringLookup(vocabulary=["a", "b"])(x)
    y = tf.keras.layers.Embedding(3, 1, embeddings_initializer="zeros", name="weights")(numbers)
    model = tf.keras.Model({"word": x}, tf.keras.layers.Flatten()(y))
    model.compile("sgd", "mse")
    return model


class OneBatch(tf.keras.utils.PyDataset):
    """A PyDataset of one batch."""

    def __init__(self, batch: Any) -> None:
        super().__init__()
        self.batch = batch

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        return self.batch


def one_step(model: Any, entrance: str, x: Any, y: Any) -> None:
    """Train on all samples at once, by one of the methods."""
    if entrance == "train_on_batch":
        model.train_on_batch({"word": x}, y)
    elif entrance == "PyDataset":
        model.fit(OneBatch(({"word": x}, y)), verbose=0)
    elif entrance == "generator":

        def batches() -> Iterator[Any]:
            yield {"word": x}, y

        model.fit(batches(), verbose=0)
    elif entrance == "Dataset":
        slices = tf.data.Dataset.from_tensor_slices(({"word": x}, y))
        model.fit(slices.batch(4), verbose=0)
    else:
        model.fit({"word": x}, y, batch_size=4, verbose=0)


@every_column
@pytest.mark.parametrize("entrance", ["fit", "train_on_batch", "PyDataset", "generator", "Dataset"])
def test_training_finds_the_word_whatever_holds_it(kind: str, entrance: str) -> None:
    model = embedding_of_text()
    one_step(model, entrance, COLUMNS[kind](), np.ones((4, 1), np.float32))
    # One step of 0.01 along the mean of 2 (1 - 0) over four samples: two of them are `a`.
    found = model.get_layer("weights").get_weights()[0].ravel()
    np.testing.assert_allclose(found, [0.005, 0.01, 0.005], rtol=1e-6)


@every_column
def test_calls_predictions_and_losses_agree(kind: str) -> None:
    model = embedding_of_text()
    model.get_layer("weights").set_weights([np.array([[1.0], [2.0], [3.0]], np.float32)])
    wanted = [[2.0], [3.0], [1.0], [2.0]]
    x = {"word": COLUMNS[kind]()}
    assert model(x).numpy().tolist() == wanted
    assert model.predict(x, verbose=0).tolist() == wanted
    assert model.predict_on_batch(x).tolist() == wanted
    truth = np.array(wanted, np.float32) + 1
    assert model.evaluate(x, truth, verbose=0) == 1
    assert model.test_on_batch(x, truth) == 1


@every_column
def test_a_vocabulary_is_found_whatever_holds_the_text(kind: str) -> None:
    lookup = tf.keras.layers.StringLookup()
    lookup.adapt(COLUMNS[kind]())
    # Keras: the most frequent first, then in reverse alphabetical order.
    assert lookup.get_vocabulary() == ["[UNK]", "a", "b", "?"]
    texts = tf.keras.layers.TextVectorization(standardize=None)
    texts.adapt(COLUMNS[kind]())
    assert texts.get_vocabulary() == ["", "[UNK]", "a", "b", "?"]


def test_a_frame_of_numbers_and_text_goes_in_as_a_dict_of_columns() -> None:
    frame = pd.DataFrame({"word": TEXTS, "number": pd.array([1, 2, 3, 4], "Int64")})
    word = tf.keras.Input((1,), dtype="string", name="word")
    number = tf.keras.Input((1,), name="number")
    found = tf.keras.layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")(word)
    model = tf.keras.Model([word, number], tf.keras.layers.Concatenate()([found, number]))
    wanted = [[0, 1, 0, 1], [0, 0, 1, 2], [1, 0, 0, 3], [0, 1, 0, 4]]
    assert model.predict(dict(frame), verbose=0).tolist() == wanted
    with pytest.raises(ValueError, match=r"predict: x must hold text only or numbers only.*int"):
        model.predict(frame, verbose=0)


@pytest.mark.parametrize("entrance", ["fit", "train_on_batch", "PyDataset", "generator"])
def test_a_missing_value_names_the_column(entrance: str) -> None:
    column = pd.Series(["a", None, "b", "a"], dtype="str")
    with pytest.raises(ValueError, match=r"word.*has a missing value"):
        one_step(embedding_of_text(), entrance, column, np.ones((4, 1), np.float32))
