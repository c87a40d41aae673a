"""Keras's preprocessing of texts and series."""

import json
import random
from typing import Any


def _texts(array: Any) -> list[str]:
    return [text.decode() for text in array.numpy().tolist()]


def _joined(numbers: Any) -> str:
    return json.dumps(numbers)


def tokenizer(tf: Any, _: Any, texts: Any, num_words: Any, flags: Any, mode: Any) -> list[Any]:
    """A Tokenizer fitted on half of the texts, applied to all, and one rebuilt from its JSON."""
    kind = tf.keras.preprocessing.text
    char_level, lower, oov = (bool(flag) for flag in flags.numpy())
    made = kind.Tokenizer(
        num_words=int(num_words) or None,
        lower=lower,
        char_level=char_level,
        oov_token="<unk>" if oov else None,
    )
    given = _texts(texts)
    made.fit_on_texts(given[: (len(given) + 1) // 2])
    again = kind.tokenizer_from_json(made.to_json())
    found = []
    for one in (made, again):
        numbers = one.texts_to_sequences(given)
        found += [
            _joined(numbers),
            _joined(one.sequences_to_texts(numbers)),
            _joined(sorted(one.word_index.items())),
            one.texts_to_matrix(given, ("binary", "count", "tfidf", "freq")[int(mode)]),
        ]
    return found


def splitting(tf: Any, _: Any, texts: Any, n: Any) -> list[Any]:
    """Words, and their hashes by MD5."""
    kind = tf.keras.preprocessing.text
    found = [
        [kind.text_to_word_sequence(text), kind.hashing_trick(text, int(n), "md5")]
        for text in _texts(texts)
    ]
    return [_joined(found)]


def pairs(tf: Any, _: Any, words: Any, options: Any, seed: Any) -> list[Any]:
    """Skipgrams of words, with subsampling by frequency."""
    kind = tf.keras.preprocessing.sequence
    window, negative, categorical, sampled = options.numpy().tolist()
    random.seed(int(seed))
    table = kind.make_sampling_table(12, 1e-2)
    found, labels = kind.skipgrams(
        words.numpy().tolist(),
        12,
        window_size=window,
        negative_samples=float(negative),
        categorical=bool(categorical),
        sampling_table=table if sampled else None,
        seed=int(seed),
    )
    return [table, _joined(found), _joined(labels)]


def windows(tf: Any, _: Any, series: Any, options: Any) -> list[Any]:
    """The batches of a TimeseriesGenerator."""
    length, rate, stride, start, end, reverse, size = options.numpy().tolist()
    series = series.numpy()
    made = tf.keras.preprocessing.sequence.TimeseriesGenerator(
        series,
        series * 10,
        length,
        sampling_rate=rate,
        stride=stride,
        start_index=start,
        end_index=len(series) - 1 - end,
        reverse=bool(reverse),
        batch_size=size,
    )
    found = [made[index] for index in range(len(made))]
    return [len(made), *[part for batch in found for part in batch]]


def looked_up(tf: Any, _: Any, words: Any, splits: Any, mode: Any) -> list[Any]:
    """A StringLookup of ragged and sparse words, and their hashes."""
    ragged = tf.RaggedTensor.from_row_splits(tf.constant(words), splits)
    sparse = ragged.to_sparse()
    mode = ("int", "multi_hot", "count")[int(mode)]
    layers = [
        tf.keras.layers.StringLookup(vocabulary=["a", "b", "cc"], output_mode=mode),
        tf.keras.layers.Hashing(5, output_mode=mode),
    ]
    found = []
    for layer in layers:
        for given in (ragged, sparse):
            y = layer(given)
            if hasattr(y, "row_splits"):
                found += [y.row_splits, y.values]
            elif hasattr(y, "indices"):
                found += [y.indices, y.values]
            else:  # Keras returns integers outside models, and floats inside
                found.append(tf.cast(y, tf.float32))
    return found
