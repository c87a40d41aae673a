"""Random decoders: a few tokens, and a cache of keys and values into which they are written."""

from __future__ import annotations

from typing import Any

import numpy as np

import pinnace as tf


class DrawnDecoder:
    """Some blocks of a decoder, in one of the many ways to write them.

    Args:
        seed: selects the decoder.

    Attributes:
        function: from tokens, cache, written positions and visible positions to the tokens' results
            and the updated cache.
        given: arguments for it.
    """

    def __init__(self, seed: int) -> None:
        self._random = random = np.random.default_rng(seed)
        self.batch = int(random.integers(1, 5))
        self.heads, self.depth = int(self._pick(1, 2, 3, 4)), int(self._pick(1, 3, 8, 16, 33))
        self.length = int(self._pick(1, 2, 7, 16, 33, 64))
        self.blocks = int(random.integers(1, 4))
        # Position of the heads axis in the cache: before or after its rows.
        self.heads_first = bool(random.random() < 0.7)
        self.update = self._pick("blend", "turned blend", "apart", "rows joined", "rows joined")
        self.tokens = 1 if "joined" not in self.update else int(self._pick(1, 1, 2, 5))
        self.whole = self._pick("stacked", "of blocks", "single")
        self.packs = self._pick("all", "blocks", "none", "joined")
        self.width = self.heads * self.depth
        shape = self._cache_shape(self.length)
        whole = {
            "stacked": (shape[0], self.blocks, 2, *shape[1:]),
            "of blocks": (self.blocks, 2, *shape),
            "single": (2 * self.blocks, *shape),
        }[self.whole]
        here = np.zeros((self.batch, self.length), np.float32)
        here[np.arange(self.batch), random.integers(0, self.length, self.batch)] = 1
        seen = random.random((self.batch, 1, 1, self._cached())) < 0.7
        seen[..., 0] = True
        numbers = [(self.batch, self.tokens, self.width), whole]
        x, cache = (random.standard_normal(one).astype(np.float32) for one in numbers)
        self.given = [x, cache, here, seen]
        self._steps = [self._block() for _ in range(self.blocks)]
        self._mark = self._pick("none", "none", "scaled", "by channel", "halves")
        self._last = self._weight(self.width, 9)
        self._says_more = bool(random.random() < 0.2)
        self.function = tf.function(self._run)

    def _pick(self, *options: Any) -> Any:
        return options[int(self._random.integers(len(options)))]

    def _weight(self, *shape: int) -> Any:
        value = self._random.standard_normal(shape) / np.sqrt(shape[0])
        return self._pick(np.asarray, tf.Variable)(value.astype(np.float32))

    def _cached(self) -> int:
        """Rows of the cache after a step."""
        return self.length + (self.tokens if "joined" in self.update else 0)

    def _cache_shape(self, length: int) -> tuple[int, ...]:
        if self.heads_first:
            return self.batch, self.heads, length, self.depth
        return self.batch, length, self.heads, self.depth

    def _part(self, cache: Any, block: int, side: int) -> Any:
        if self.whole == "stacked":
            return cache[:, block, side]
        return cache[block, side] if self.whole == "of blocks" else cache[2 * block + side]

    def _run(self, x: Any, cache: Any, here: Any, seen: Any) -> Any:
        kept: list[Any] = []
        place = here[:, None, :, None] if self.heads_first else here[:, :, None, None]
        for number, step in enumerate(self._steps):
            parts = [self._part(cache, number, side) for side in (0, 1)]
            x, *made = step(x, parts, place, seen)
            kept.append(made)
        logits = tf.matmul(tf.reshape(x, [-1, self.width]), self._last)
        more = [tf.reduce_sum(kept[0][0] * 2.0, -1)] if self._says_more else []
        return [logits, *self._returned(kept), *more]

    def _returned(self, kept: list[Any]) -> list[Any]:
        if self.packs == "none":
            return [one for pair in kept for one in pair]
        if self.packs == "joined":
            return [tf.concat([one for pair in kept for one in pair], 0)]
        axis = int(self.whole == "stacked")
        pairs = [tf.stack(pair, axis=axis) for pair in kept]
        return pairs if self.packs == "blocks" else [tf.stack(pairs, axis=axis)]

    def _block(self) -> Any:
        project, out = self._projection(), self._weight(self.width, self.width)
        is_masked, is_normed = self._random.random() < 0.6, self._random.random() < 0.5
        dense = [self._weight(self.width, 20), self._weight(20, self.width)]

        def run(x: Any, parts: list[Any], place: Any, seen: Any) -> Any:
            y = x
            if is_normed:
                y = x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-5)
            query, key, value = project(y)
            query, key = self._marked(query), self._marked(key)
            keys, values = (
                self._updated(parts[0], key, place),
                self._updated(parts[1], value, place),
            )
            found = self._attended(query, keys, values, seen if is_masked else None)
            x = x + tf.matmul(found, out)
            return x + tf.matmul(tf.nn.relu(tf.matmul(x, dense[0])), dense[1]), keys, values

        return run

    def _projection(self) -> Any:
        """Queries, keys and values of tokens, in the layout of the cache."""
        how = self._pick("slices", "split", "apart")
        weights = [self._weight(self.width, self.width * (1 if how == "apart" else 3))]
        if how == "apart":
            weights += [self._weight(self.width, self.width) for _ in range(2)]

        def run(x: Any) -> Any:
            if how == "apart":
                return [self._with_heads(tf.matmul(x, one)) for one in weights]
            joint = tf.matmul(x, weights[0])
            if how == "split":
                return [self._with_heads(one) for one in tf.split(joint, 3, axis=-1)]
            joint = tf.reshape(joint, [self.batch, self.tokens, 3, self.heads, self.depth])
            if self.tokens == 1 and self.heads_first:
                joint = tf.reshape(joint, [self.batch, 3, self.heads, 1, self.depth])
                return [joint[:, side] for side in range(3)]
            return [self._turned(joint[:, :, side]) for side in range(3)]

        return run

    def _marked(self, x: Any) -> Any:
        """Steps on queries and keys, such as rotary position embeddings."""
        if self._mark == "scaled":
            return 0.7 * x
        marks = np.linspace(0.5, 1.5, self.depth).astype(np.float32)
        if self._mark == "by channel":
            return x * marks + 0.1
        if self._mark == "halves":
            half = self.depth // 2
            turned = tf.concat([-x[..., half:], x[..., :half]], -1)
            return x * np.cos(marks) + turned * np.sin(marks)
        return x

    def _turned(self, x: Any) -> Any:
        return tf.transpose(x, [0, 2, 1, 3]) if self.heads_first else x

    def _with_heads(self, x: Any) -> Any:
        if self.tokens == 1 and self.heads_first:
            return tf.reshape(x, [self.batch, self.heads, 1, self.depth])
        return self._turned(tf.reshape(x, [self.batch, self.tokens, self.heads, self.depth]))

    def _updated(self, cache: Any, row: Any, here: Any) -> Any:
        if self.update == "blend":
            return cache * (1 - here) + row * here
        if self.update == "turned blend":
            return here * row + (1.0 - here) * cache
        if self.update == "apart":
            return cache + here * (row - cache)
        return tf.concat([cache, row], 2 if self.heads_first else 1)

    def _attended(self, query: Any, keys: Any, values: Any, seen: Any) -> Any:
        if not self.heads_first:
            query, keys, values = (tf.transpose(one, [0, 2, 1, 3]) for one in (query, keys, values))
        scores = tf.matmul(query, keys, transpose_b=True) * np.float32(self.depth**-0.5)
        if seen is not None:
            scores = tf.where(seen, scores, tf.constant(-1e9))
        found = tf.matmul(tf.nn.softmax(scores), values)
        return tf.reshape(tf.transpose(found, [0, 2, 1, 3]), [self.batch, self.tokens, self.width])
