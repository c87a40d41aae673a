"""Random transformers: attention in many forms, norms, dense layers."""

from __future__ import annotations

from typing import Any

import numpy as np

import pinnace as tf


def _gelu_by_tanh(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.gelu(x, approximate=True)


class DrawnTransformer:
    """Some blocks over tokens.

    Args:
        seed: selects the transformer.

    Attributes:
        function: from tokens, other tokens, a boolean mask and an additive mask of scores to
            results.
        given: arguments for it.
        variables: its weights.
    """

    def __init__(self, seed: int) -> None:
        self._random = random = np.random.default_rng(seed)
        self.variables: list[Any] = []
        self.batch = int(random.integers(1, 4))
        self.tokens, self.others = (int(self._pick(1, 2, 7, 16, 33, 50, 65)) for _ in "12")
        self.heads, self.depth = int(self._pick(1, 2, 3, 4)), int(self._pick(1, 2, 5, 8, 16, 33))
        self.width = int(self._pick(2, 6, 17, 32, 40))
        self.mask_rank = int(random.integers(2, 5))
        shapes = [
            (self.batch, self.tokens, self.width),
            (self.batch, self.others, self.width),
        ]
        x, other = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
        whole = (self.batch, self.heads, self.tokens, self.others)
        ends = whole[4 - self.mask_rank :]
        ends = tuple(1 if random.random() < 0.3 else size for size in ends)
        chosen = random.random(ends) < 0.7
        added = np.where(random.random(ends) < 0.7, 0, -1e9).astype(np.float32)
        self.given = [x, other, chosen, added]
        self._blocks = [self._block() for _ in range(int(random.integers(1, 3)))]
        self.function = tf.function(self._run)

    def _run(self, x: Any, other: Any, chosen: Any, added: Any) -> Any:
        x, other = x * 1.5, other + 0.25
        for block in self._blocks:
            x = block(x, other, chosen, added)
        return x

    def _pick(self, *options: Any) -> Any:
        return options[int(self._random.integers(len(options)))]

    def _weight(self, *shape: int, inner: int = 1) -> Any:
        value = self._random.standard_normal(shape) / np.sqrt(max(1, inner))
        if self._random.random() < 0.3:
            return tf.constant(value, tf.float32)  # a constant of the graph
        variable = tf.Variable(value, dtype=tf.float32)
        self.variables.append(variable)
        return variable

    def _block(self) -> Any:
        norms = [self._norm(), self._norm()]
        attend, dense = self._attention(), self._dense()
        is_first = bool(self._random.random() < 0.5)

        def run(x: Any, *rest: Any) -> Any:
            if is_first:
                x = x + attend(norms[0](x), *rest)
                return x + dense(norms[1](x))
            x = norms[0](x + attend(x, *rest))
            return norms[1](dense(x) + x)

        return run

    def _norm(self) -> Any:
        kind = self._pick("layer", "layer", "root", "moments", "unit", "fused", "none")
        gamma, beta = self._weight(self.width), self._weight(1, 1, self.width)

        def layer(x: Any) -> Any:
            mean = tf.reduce_mean(x, -1, keepdims=True)
            variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
            scale = tf.math.rsqrt(variance + 1e-6) * gamma
            return x * scale + (beta - mean * scale)

        def root(x: Any) -> Any:
            return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-5) * gamma

        def moments(x: Any) -> Any:
            mean, variance = tf.nn.moments(x, -1, keepdims=True)
            return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)

        def unit(x: Any) -> Any:
            size = tf.maximum(tf.reduce_sum(tf.square(x), -1, keepdims=True), 1e-6)
            return x / tf.sqrt(size) - tf.reduce_max(tf.abs(x), axis=[-1], keepdims=True) * 0.1

        def fused(x: Any) -> Any:
            rows = tf.shape(x)[0] * tf.shape(x)[1]
            y = tf.raw_ops.FusedBatchNormV3(
                x=tf.reshape(x, [1, rows, self.width, 1]),
                scale=tf.fill([rows], 1.0),
                offset=tf.fill([rows], 0.0),
                mean=tf.constant([], tf.float32),
                variance=tf.constant([], tf.float32),
                epsilon=1e-3,
                is_training=True,
                data_format="NCHW",
            )[0]
            return tf.reshape(y, tf.shape(x)) * gamma + beta

        kinds = {"layer": layer, "root": root, "moments": moments, "unit": unit, "fused": fused}
        return kinds.get(kind, lambda x: x)

    def _dense(self) -> Any:
        inner = int(self._pick(3, 16, 48, 100))
        first, second = self._weight(self.width, inner), self._weight(inner, self.width)
        bias = self._weight(inner)
        how = self._pick("einsum", "matmul", "flat")
        activation = self._pick(tf.nn.gelu, _gelu_by_tanh, tf.nn.relu, tf.nn.silu, tf.tanh)

        def run(x: Any) -> Any:
            if how == "einsum":
                y = activation(tf.einsum("btc,cd->btd", x, first) + bias)
                return tf.einsum("btd,dc->btc", y, second)
            if how == "matmul":
                return tf.matmul(activation(tf.matmul(x, first) + bias), second)
            y = tf.matmul(tf.reshape(x, [-1, self.width]), first)
            y = tf.nn.bias_add(tf.reshape(y, [self.batch, self.tokens, -1]), bias)
            return tf.matmul(activation(y), second)

        return run

    def _projection(self) -> Any:
        """Rows of `width` numbers split into heads: [B, T, heads, depth]."""
        weights = self._weight(self.width, self.heads, self.depth, inner=self.width)
        bias = self._pick(None, self._weight(self.heads, self.depth))
        flat = bool(self._random.random() < 0.5)

        def run(x: Any) -> Any:
            if flat:
                matrix = tf.reshape(weights, [self.width, self.heads * self.depth])
                shape = [self.batch, -1, self.heads, self.depth]
                y = tf.reshape(tf.matmul(x, matrix), shape)
            else:
                y = tf.einsum("btc,cnh->btnh", x, weights)
            return y if bias is None else y + bias

        return run

    def _mask(self) -> Any:
        """Masks of scores: boolean or additive, arguments or constants."""
        masking = self._pick("none", "chosen", "added", "constant", "variable")
        fixed = np.tril(np.ones((self.tokens, self.others), bool))
        kinds = {
            "chosen": lambda scores, chosen, _: tf.where(chosen, scores, tf.constant(-1e9)),
            "added": lambda scores, _, added: scores + added,
            "constant": lambda scores, *_: tf.where(tf.constant(fixed), scores, tf.constant(-3e38)),
            "variable": lambda scores, *_: tf.cast(tf.constant(fixed), tf.float32) * 2.0 + scores,
        }
        return kinds.get(masking, lambda scores, *_: scores)

    def _scale(self) -> tuple[Any, Any]:
        """The scales of queries and scores."""
        same = (lambda q: q), (lambda scores: scores)
        kinds = {
            "times": (same[0], lambda scores: 0.3 * scores),
            "divided": (same[0], lambda scores: scores / 3.0),
            "query": (lambda q: q * 0.5, same[1]),
        }
        return kinds.get(self._pick("times", "divided", "query", "none"), same)

    def _attention(self) -> Any:
        query, key, value = (self._projection() for _ in range(3))
        out = self._weight(self.heads, self.depth, self.width, inner=self.heads * self.depth)
        crossed, how = bool(self._random.random() < 0.3), self._pick("einsum", "matmul", "keys")
        before, after = self._scale()
        late = bool(self._random.random() < 0.5)  # values are split into heads after the softmax
        mask = self._mask() if crossed else lambda scores, *_: scores  # as long as the others

        def einstein(q: Any, k: Any, v: Any, *masks: Any) -> Any:
            scores = after(tf.einsum("btnh,bsnh->bnts", q, k))
            weights = tf.nn.softmax(mask(scores, *masks))
            y = tf.einsum("bnts,bsnh->btnh", weights, v)
            return tf.einsum("btnh,nhc->btc", y, out)

        def turned(q: Any, k: Any, v: Any, *masks: Any) -> Any:
            q = tf.transpose(q, [0, 2, 1, 3])
            v = v if late else tf.transpose(v, [0, 2, 1, 3])
            if how == "keys":
                scores = tf.matmul(q, tf.transpose(k, [0, 2, 3, 1]))
            else:
                scores = tf.matmul(q, tf.transpose(k, [0, 2, 1, 3]), transpose_b=True)
            weights = tf.nn.softmax(mask(after(scores), *masks))
            if late:
                v = tf.reshape(v, [self.batch, -1, self.heads * self.depth])
                v = tf.reshape(v, [self.batch, -1, self.heads, self.depth])
                v = tf.transpose(v, [0, 2, 1, 3])
            y = tf.matmul(weights, v)
            y = tf.reshape(tf.transpose(y, [0, 2, 1, 3]), [self.batch, -1, self.heads * self.depth])
            return tf.matmul(y, tf.reshape(out, [self.heads * self.depth, self.width]))

        def run(x: Any, other: Any, *masks: Any) -> Any:
            source = other if crossed else x
            attend = einstein if how == "einsum" else turned
            return attend(before(query(x)), key(source), value(source), *masks)

        return run
