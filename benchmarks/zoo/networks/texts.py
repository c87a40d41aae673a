"""Language: transformers, one step of a decoder with its cache, and older classifiers."""

from typing import Any

import numpy as np

from zoo.network import Network, Training, classes, ids, with_positions, yes_no

VOCABULARY, LENGTH, WIDTH, HEADS = 2000, 64, 128, 4


def bert_like(tf: Any) -> Any:
    """Four post-norm blocks over tokens, their kinds and a mask; the first token's class."""
    layers = tf.keras.layers
    tokens = tf.keras.Input((LENGTH,), dtype="int32", name="ids")
    kinds = tf.keras.Input((LENGTH,), dtype="int32", name="kinds")
    mask = tf.keras.Input((LENGTH,), dtype="bool", name="mask")
    x = layers.Embedding(VOCABULARY, WIDTH)(tokens) + layers.Embedding(2, WIDTH)(kinds)
    x = layers.LayerNormalization(epsilon=1e-6)(with_positions(tf, x))
    seen = layers.Reshape((1, LENGTH))(mask)
    for _ in range(4):
        y = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(x, x, attention_mask=seen)
        x = layers.LayerNormalization(epsilon=1e-6)(x + y)
        y = layers.Dense(WIDTH)(layers.Dense(4 * WIDTH, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-6)(x + y)
    x = layers.Dense(2)(layers.Dense(WIDTH, activation="tanh")(x[:, 0]))
    return tf.keras.Model({"ids": tokens, "kinds": kinds, "mask": mask}, x)


def gpt_like(tf: Any) -> Any:
    """Four pre-norm blocks with causal attention; logits of each next token."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((LENGTH,), dtype="int32", name="ids")
    x = with_positions(tf, layers.Embedding(VOCABULARY, WIDTH)(inputs))
    for _ in range(4):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(y, y, use_causal_mask=True)
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.Dense(WIDTH)(layers.Dense(4 * WIDTH, activation="gelu")(y))
    return tf.keras.Model(inputs, layers.Dense(VOCABULARY)(layers.LayerNormalization()(x)))


def gpt_step(tf: Any) -> Any:
    """One new token for four blocks, whose keys and values so far are given and given back."""
    random, depth = np.random.default_rng(7), WIDTH // HEADS

    def weight(*shape: int) -> Any:
        return tf.Variable((random.standard_normal(shape) / shape[0] ** 0.5).astype(np.float32))

    def normalised(x: Any) -> Any:
        x = x - tf.reduce_mean(x, -1, keepdims=True)
        return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6)

    class Decoder(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = weight(VOCABULARY, WIDTH), weight(LENGTH, WIDTH)
            self.joint = [weight(WIDTH, 3 * WIDTH) for _ in range(4)]
            self.out = [weight(WIDTH, WIDTH) for _ in range(4)]
            self.wide = [weight(WIDTH, 4 * WIDTH) for _ in range(4)]
            self.narrow = [weight(4 * WIDTH, WIDTH) for _ in range(4)]

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, 4, 2, HEADS, LENGTH, depth], tf.float32, name="cache"),
                tf.TensorSpec([None], tf.int32, name="token"),
                tf.TensorSpec([None], tf.int32, name="at"),
            ]
        )
        def answer(self, cache: Any, token: Any, at: Any) -> dict[str, Any]:
            here = tf.one_hot(at, LENGTH)[:, None, :, None]
            seen = tf.sequence_mask(at + 1, LENGTH)[:, None, None]
            x = tf.gather(self.tokens, token) + tf.gather(self.positions, at)
            kept = []
            for block in range(4):
                parts = tf.matmul(normalised(x), self.joint[block])
                parts = tf.reshape(parts, [-1, 3, HEADS, 1, depth])
                query, key, value = parts[:, 0], parts[:, 1], parts[:, 2]
                keys = cache[:, block, 0] * (1 - here) + key * here
                values = cache[:, block, 1] * (1 - here) + value * here
                scores = tf.matmul(query, keys, transpose_b=True) * depth**-0.5
                scores = tf.nn.softmax(tf.where(seen, scores, -1e9))
                found = tf.reshape(tf.matmul(scores, values), [-1, WIDTH])
                x = x + tf.matmul(found, self.out[block])
                wide = tf.nn.gelu(tf.matmul(normalised(x), self.wide[block]))
                x = x + tf.matmul(wide, self.narrow[block])
                kept.append(tf.stack([keys, values], axis=1))
            logits = tf.matmul(normalised(x), self.tokens, transpose_b=True)
            return {"kept": tf.stack(kept, axis=1), "logits": logits}

    return Decoder()


def text_cnn(tf: Any) -> Any:
    """Convolutions of three lengths over embedded tokens, their maxima side by side."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((80,), dtype="int32", name="ids")
    x = layers.Embedding(10_000, 64)(inputs)
    found = [
        layers.GlobalMaxPooling1D()(layers.Conv1D(64, size, activation="relu")(x))
        for size in (3, 4, 5)
    ]
    return tf.keras.Model(inputs, layers.Dense(1)(layers.Concatenate()(found)))


def bag_of_words(tf: Any) -> Any:
    """The mean of the tokens' embeddings, padding left out."""
    layers = tf.keras.layers
    inputs = tf.keras.Input((80,), dtype="int32", name="ids")
    x = layers.GlobalAveragePooling1D()(layers.Embedding(10_000, 32, mask_zero=True)(inputs))
    return tf.keras.Model(inputs, layers.Dense(4)(layers.Dense(32, activation="relu")(x)))


def translator(tf: Any) -> Any:
    """An encoder and a decoder with cross attention, one block each."""
    layers = tf.keras.layers
    source = tf.keras.Input((LENGTH,), dtype="int32", name="source")
    target = tf.keras.Input((LENGTH,), dtype="int32", name="target")

    def attend(x: Any, to: Any, **how: Any) -> Any:
        y = layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(x, to, **how)
        return layers.LayerNormalization(epsilon=1e-6)(x + y)

    def think(x: Any) -> Any:
        y = layers.Dense(WIDTH)(layers.Dense(2 * WIDTH, activation="relu")(x))
        return layers.LayerNormalization(epsilon=1e-6)(x + y)

    x = with_positions(tf, layers.Embedding(VOCABULARY, WIDTH)(source))
    kept = think(attend(x, x))
    y = with_positions(tf, layers.Embedding(VOCABULARY, WIDTH)(target))
    y = think(attend(attend(y, y, use_causal_mask=True), kept))
    return tf.keras.Model({"source": source, "target": target}, layers.Dense(VOCABULARY)(y))


WORDS = [
    *("the", "a", "film", "plot", "was", "is", "not", "very", "good", "bad", "long", "short"),
    *("and", "but", "of", "it", "i", "we", "saw", "liked"),
]


def vectorized_text(tf: Any) -> Any:
    """Strings: cut into words and looked up by the model itself, embedded, pooled."""
    layers = tf.keras.layers
    cut = layers.TextVectorization(output_sequence_length=32, vocabulary=WORDS)
    inputs = tf.keras.Input((), dtype="string", name="text")
    x = layers.Embedding(len(WORDS) + 2, 32)(cut(inputs))
    x = layers.Conv1D(32, 3, activation="relu")(x)
    return tf.keras.Model(inputs, layers.Dense(1)(layers.GlobalMaxPooling1D()(x)))


def _sentences(random: Any, rows: int) -> dict[str, np.ndarray]:
    made = [" ".join(random.choice(WORDS, random.integers(5, 30))) + "!" for _ in range(rows)]
    return {"text": np.array(made, object)}


def _bert(random: Any, rows: int) -> dict[str, np.ndarray]:
    mask = np.arange(LENGTH) < random.integers(LENGTH // 4, LENGTH + 1, (rows, 1))
    return {
        "ids": (random.integers(1, VOCABULARY, (rows, LENGTH)) * mask).astype(np.int32),
        "kinds": random.integers(0, 2, (rows, LENGTH)).astype(np.int32),
        "mask": mask,
    }


def _cache(random: Any, rows: int) -> dict[str, np.ndarray]:
    shape = (rows, 4, 2, HEADS, LENGTH, WIDTH // HEADS)
    return {
        "cache": random.standard_normal(shape).astype(np.float32),
        "token": random.integers(0, VOCABULARY, rows).astype(np.int32),
        "at": random.integers(8, LENGTH, rows).astype(np.int32),
    }


def _pairs(random: Any, rows: int) -> dict[str, np.ndarray]:
    shape = (rows, LENGTH)
    return {k: random.integers(1, VOCABULARY, shape).astype(np.int32) for k in ("source", "target")}


NETWORKS = {
    "bag_of_words": Network(
        title="mean of embeddings, masked",
        build=bag_of_words,
        draw=ids(80, 10_000, padded=True),
        training=Training(targets=classes(4), loss="classes"),
    ),
    "bert_like": Network(
        title="BERT-like, 4 blocks, 64 tokens, mask",
        build=bert_like,
        draw=_bert,
        training=Training(targets=classes(2), loss="classes"),
    ),
    "gpt_like": Network(
        title="GPT-like, 4 blocks, 64 tokens",
        build=gpt_like,
        draw=ids(LENGTH, VOCABULARY),
        training=Training(targets=classes(VOCABULARY, LENGTH), loss="classes", rows=8),
    ),
    "gpt_step": Network(title="GPT-like, one token, with a cache", build=gpt_step, draw=_cache),
    "text_cnn": Network(
        title="text CNN, 80 tokens",
        build=text_cnn,
        draw=ids(80, 10_000),
        training=Training(targets=yes_no, loss="yes_no"),
    ),
    "translator": Network(title="transformer encoder and decoder", build=translator, draw=_pairs),
    "vectorized_text": Network(
        title="strings, TextVectorization, Conv1D",
        build=vectorized_text,
        draw=_sentences,
        onnx="strings are cut by regular expressions, which ONNX has not",
    ),
}
