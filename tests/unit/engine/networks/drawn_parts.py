"""Random elementwise steps on slices of products and of arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

import pinnace as tf

_BINARY = (tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum)
_UNARY = (tf.sigmoid, tf.tanh, tf.negative, tf.nn.relu, tf.square)


class DrawnParts:
    """Slices of a product in steps of several shapes, some concatenated, followed by a product.

    Args:
        seed: selects the program.

    Attributes:
        function: from rows and tensors to results.
        given: arguments for it.
    """

    def __init__(self, seed: int) -> None:
        self._random = random = np.random.default_rng(seed)
        self.batch, self.rows = int(random.integers(1, 4)), int(self._pick(1, 2, 5, 16, 40))
        self.columns, self.parts = int(self._pick(1, 3, 8, 16, 33)), int(random.integers(1, 4))
        batch, rows, columns = self.batch, self.rows, self.columns
        shapes = [
            (batch, 6),
            (batch, 2, rows, columns),
            (batch, rows, 1),
            (batch, 1, columns),
            (rows, columns),
            (1, 1, columns),
            (batch, 1, 1),
        ]
        self.given = [random.standard_normal(one).astype(np.float32) for one in shapes]
        width = self.parts * rows * columns
        self._weights = [
            (random.standard_normal(one) / 4).astype(np.float32)
            for one in ((6, width), (columns, 4), (columns,))
        ]
        # The same draws in each trace.
        self._seed = int(random.integers(1 << 30))
        self.function = tf.function(self._run)

    def _pick(self, *options: Any) -> Any:
        return options[int(self._random.integers(len(options)))]

    def _run(self, x: Any, cache: Any, *others: Any) -> Any:
        self._random = np.random.default_rng(self._seed)
        y = tf.matmul(x, self._weights[0])
        made = self._cut(y)
        outside = [*others, self._weights[2]]
        outside += [cache[:, 0], cache[:, 1], tf.sigmoid(others[2]) * cache[:, 1]]
        values = list(made)
        for _ in range(int(self._random.integers(2, 9))):
            values.append(self._step(values, outside))
        return self._ends(values)

    def _cut(self, y: Any) -> list[Any]:
        """The product's result as slices of [batch, rows, columns]."""
        batch, rows, columns, parts = self.batch, self.rows, self.columns, self.parts
        how = self._pick("split", "slices", "turned", "inner")
        if how == "split":
            found = tf.split(y, parts, axis=1)
            return [tf.reshape(one, [batch, rows, columns]) for one in found]
        if how == "slices":
            y = tf.reshape(y, [batch, parts, rows, columns])
            return [y[:, number] for number in range(parts)]
        if how == "turned":
            y = tf.reshape(y, [batch, rows, parts, columns])
            return (
                tf.unstack(tf.transpose(y, [2, 0, 1, 3]))
                if parts == 2
                else [tf.transpose(y, [0, 2, 1, 3])[:, number] for number in range(parts)]
            )
        y = tf.reshape(y, [batch, rows, parts * columns])
        return tf.split(y, parts, axis=-1)

    def _step(self, values: list[Any], outside: list[Any]) -> Any:
        x = self._pick(*values)
        if self._random.random() < 0.25:
            return self._pick(*_UNARY)(x)
        other = self._pick(*values) if self._random.random() < 0.4 else self._pick(*outside)
        if self._random.random() < 0.3:
            other = self._pick(1.0 - other, other * 0.5, other + other)
        pair = [x, other] if self._random.random() < 0.5 else [other, x]
        return self._pick(*_BINARY)(*pair)

    def _ends(self, values: list[Any]) -> list[Any]:
        ends = [tf.matmul(values[-1], self._weights[1])]
        same = values[-4:]
        how = self._pick("stack", "concat", "each", "none", "both")
        axis = int(self._random.integers(3))
        if how in {"stack", "both"}:
            ends.append(tf.stack(same, axis))
        if how in {"concat", "both"}:
            ends.append(tf.stack([tf.concat(same, axis), tf.concat(same[::-1], axis)]))
        return [*ends, *same] if how == "each" else ends
