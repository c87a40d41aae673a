"""Networks in loop bodies give the plan's results, for any shapes of an iteration.

References are the plan's kernels, one by one (tier `plan`), and formulas in float64; tolerances are
those of a plan's trial (`engine.agreement`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import agreement, rejections
from pinnace.engine.build import plan_of
from pinnace.engine.networks.guarded import Guarded
from pinnace.framework import config
from pinnace.framework.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")
    # Time spent here must not make other tests' plans hot.


class Drawn:
    """A loop over a few frames: convolutions of the frame and of the state, gates, a new state.

    Args:
        seed: selects the loop.
    """

    def __init__(self, seed: int) -> None:
        self._random = random = np.random.default_rng(seed)
        self.frames = int(random.integers(1, 5))
        self._channels = int(random.choice([1, 3, 8, 17]))
        self._units = int(random.choice([2, 8, 16, 24]))
        self._size = tuple(int(n) for n in random.integers(4, 12, 2))
        gates = int(random.integers(1, 5))
        taps = int(random.choice([1, 3, 5]))
        self.variables = [
            self._weight(taps, taps, self._channels, gates * self._units),
            self._weight(3, 3, self._units, gates * self._units),
            self._weight(gates * self._units),
        ]
        self._gates = gates
        self._splits_weights = bool(random.random() < 0.5)
        self._collects = bool(random.random() < 0.5)
        batch = None if random.random() < 0.5 else 2
        spec = tf.TensorSpec([self.frames, batch, *self._size, self._channels], tf.float32)
        self.function = tf.function(self._run, input_signature=[spec])
        self.batches = [1, 3, 8] if batch is None else [2]

    def _weight(self, *shape: int) -> Any:
        scale = 1 / np.sqrt(max(1, np.prod(shape[:-1])))
        return tf.Variable(self._random.standard_normal(shape) * scale, dtype=tf.float32)

    def x(self, batch: int) -> Any:
        """Frames with this number of rows."""
        shape = (self.frames, batch, *self._size, self._channels)
        return self._random.standard_normal(shape).astype(np.float32)

    def _sums(self, x: Any, h: Any) -> list[Any]:
        kernel, recurrent, bias = self.variables
        if not self._splits_weights:
            sums = tf.nn.conv2d(x, kernel, 1, "SAME") + tf.nn.conv2d(h, recurrent, 1, "SAME")
            return list(tf.split(sums + bias, self._gates, axis=-1))
        parts = [tf.split(one, self._gates, axis=-1) for one in (kernel, recurrent, bias)]
        return [
            tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), b) + tf.nn.conv2d(h, u, 1, "SAME")
            for w, u, b in zip(*parts, strict=True)
        ]

    def _run(self, x: Any) -> Any:
        first = tf.zeros([tf.shape(x)[1], *self._size, self._units])
        read = tf.TensorArray(tf.float32, self.frames).unstack(x)
        written = tf.TensorArray(tf.float32, self.frames)

        def body(i: Any, h: Any, out: Any) -> Any:
            sums = self._sums(read.read(i), h)
            made = tf.tanh(sums[0])
            for number, one in enumerate(sums[1:]):
                made = made + h * tf.sigmoid(one) if number % 2 else made * tf.sigmoid(one)
            return i + 1, made, out.write(i, made) if self._collects else out

        _, h, out = tf.while_loop(
            lambda i, *_: i < self.frames, body, (tf.constant(0), first, written)
        )
        return (h, out.stack()) if self._collects else (h,)


def loops_of(function: Any) -> Any:
    """The forms of the one loop of a function."""
    plan = function.get_concrete_function().plan
    (node,) = [step.node for step in plan.steps if "body" in step.node.attrs]
    loops = plan_of(node.attrs["body"].graph).tiers.loops()
    assert loops is not None
    return loops


def networks_of(function: Any) -> list[Guarded]:
    """The networks in an iteration, of all sets of shapes."""
    made = loops_of(function).forms
    return [one for part in made for one in part.fused.values() if isinstance(one, Guarded)]


def results(function: Any, *arguments: Any, tier: str) -> list[Any]:
    config.settings.tier = tier
    return [one.numpy() for one in function(*map(tf.constant, arguments))]


def check(drawn: Drawn, x: Any) -> None:
    wanted = results(drawn.function, x, tier="plan")
    signs = np.random.default_rng(0).choice([-1, 1], x.shape).astype(np.float32)
    moved = results(drawn.function, x * (1 + signs * np.float32(2**-23)), tier="plan")
    for _ in range(2):
        found = results(drawn.function, x, tier="compiled")
        assert agreement.difference(wanted, found, moved) is None


@pytest.mark.parametrize("seed", range(40))
def test_drawn_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    drawn = Drawn(seed)
    for batch in drawn.batches:
        check(drawn, drawn.x(batch))
    for variable in drawn.variables:
        variable.assign(variable * 0.5 + 0.1)
    check(drawn, drawn.x(drawn.batches[0]))
    found = networks_of(drawn.function)
    assert found
    assert not any(one.misses for one in found)


def test_each_set_of_shapes_has_its_own() -> None:
    drawn = next(one for one in map(Drawn, range(40)) if len(one.batches) > 1)
    for batch in (2, 5, 2):
        check(drawn, drawn.x(batch))
    assert len(loops_of(drawn.function).forms) == 2


def test_regions_that_agreed_run_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = next(one for one in map(Drawn, range(40)) if one.frames == 4)
    x = drawn.x(drawn.batches[0])
    results(drawn.function, x, tier="compiled")
    before = rejections.count()
    wanted = results(drawn.function, x, tier="plan")
    for _ in range(6):
        found = results(drawn.function, x, tier="auto")
        assert agreement.difference(wanted, found) is None
    (network,) = networks_of(drawn.function)
    calls = []
    whole = type(network.network).__call__

    def counted(self: Any, *arguments: Any) -> Any:
        calls.append(self)
        return whole(self, *arguments)

    monkeypatch.setattr(type(network.network), "__call__", counted)
    found = results(drawn.function, x, tier="auto")
    assert agreement.difference(wanted, found) is None
    assert calls == [network.network] * drawn.frames
    assert rejections.count() == before


def test_a_size_that_an_iteration_computes_is_looked_at() -> None:
    # All tensors have the shapes of the first iteration, but the third one reshapes differently.
    w = tf.Variable(np.random.default_rng(0).standard_normal((1, 1, 2, 2)), dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([2, 4, 6, 2])])
    def f(x: Any) -> Any:
        def body(i: Any, h: Any) -> Any:
            height = tf.where(i < 2, 4, 8)
            y = tf.tanh(tf.nn.conv2d(h, w, 1, "SAME"))
            y = tf.nn.avg_pool2d(tf.reshape(y, [2, height, 24 // height, 2]), [3, 1], 1, "SAME")
            return i + 1, tf.tanh(tf.nn.conv2d(tf.reshape(y, [2, 4, 6, 2]), w, 1, "SAME")) + h

        return tf.while_loop(lambda i, _: i < 4, body, (tf.constant(0), x))[1:]

    x = np.random.default_rng(1).standard_normal((2, 4, 6, 2)).astype(np.float32)
    wanted = x.astype(np.float64)
    kernel = w.numpy()[0, 0].astype(np.float64)
    for i in range(4):
        y = np.tanh(wanted.reshape(2, 4 if i < 2 else 8, -1, 2) @ kernel)
        padded = np.pad(y, [(0, 0), (1, 1), (0, 0), (0, 0)])
        counts = np.full(y.shape[1], 3.0)
        counts[[0, -1]] = 2
        y = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / counts[:, None, None]
        wanted = np.tanh(y.reshape(2, 4, 6, 2) @ kernel) + wanted
    for _ in range(3):
        (found,) = results(f, x, tier="compiled")
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert any(one.misses for one in networks_of(f))


def test_elements_of_a_list_may_have_other_shapes() -> None:
    w = tf.Variable(np.random.default_rng(0).standard_normal((3, 3, 2, 2)) / 4, dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([1, None, None, 2])] * 2)
    def f(first: Any, second: Any) -> Any:
        read = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, first).write(1, second)

        def body(i: Any, total: Any) -> Any:
            y = tf.nn.conv2d(tf.tanh(tf.nn.conv2d(read.read(i), w, 1, "SAME")), w, 1, "SAME")
            return i + 1, total + tf.reduce_sum(y, [1, 2])

        return tf.while_loop(lambda i, _: i < 2, body, (tf.constant(0), tf.zeros([1, 2])))[1:]

    random = np.random.default_rng(1)
    images = [random.standard_normal((1, *size, 2)).astype(np.float32) for size in ((6, 5), (9, 7))]
    wanted = results(f, *images, tier="plan")
    for _ in range(3):
        found = results(f, *images, tier="compiled")
        assert agreement.difference(wanted, found) is None
    assert any(one.misses for one in networks_of(f))


def test_a_variable_whose_shape_may_change_is_no_weight_of_a_loop() -> None:
    random = np.random.default_rng(0)
    first = random.standard_normal((1, 1, 4, 4)).astype(np.float32)
    w = tf.Variable(first, shape=tf.TensorShape(None), dtype=tf.float32)

    @tf.function(input_signature=[tf.TensorSpec([2, 5, 6, 4])])
    def f(x: Any) -> Any:
        def body(i: Any, h: Any) -> Any:
            kernel = tf.convert_to_tensor(w)
            y = tf.nn.conv2d(tf.nn.conv2d(h, kernel, 1, "SAME"), kernel, 1, "SAME")
            return i + 1, tf.ensure_shape(tf.tanh(y), [2, 5, 6, 4])

        return tf.while_loop(lambda i, _: i < 3, body, (tf.constant(0), x))[1:]

    x = random.standard_normal((2, 5, 6, 4)).astype(np.float32)
    for shape in ((1, 1, 4, 4), (3, 3, 4, 4)):
        w.assign(random.standard_normal(shape).astype(np.float32))
        wanted = results(f, x, tier="plan")
        for _ in range(3):
            assert agreement.difference(wanted, results(f, x, tier="compiled")) is None
    assert not networks_of(f)


def test_layers_that_read_the_same_image_share_its_copy() -> None:
    drawn = next(one for one in map(Drawn, range(40)) if one._splits_weights and one._gates > 2)
    results(drawn.function, drawn.x(drawn.batches[0]), tier="compiled")
    (network,) = networks_of(drawn.function)
    kinds = [layer.kind for layer in network.network.layers]
    assert kinds.count("COPY") <= 2 < kinds.count("PRODUCT")


def test_an_iteration_that_checks_has_networks() -> None:
    w = tf.Variable(np.random.default_rng(1).standard_normal((3, 3, 4, 4)) / 6, dtype=tf.float32)
    image, number = tf.TensorSpec([2, 6, 6, 4], tf.float32), tf.TensorSpec([], tf.int32)

    @tf.function(input_signature=[image, number])
    def run(x: Any, most: Any) -> Any:
        def body(i: Any, x: Any) -> Any:
            with tf.control_dependencies([tf.debugging.assert_less(i, most)]):
                y = tf.tanh(tf.nn.conv2d(x, w, 1, "SAME"))
                return i + 1, tf.tanh(tf.nn.conv2d(y, w, 1, "SAME") + x)

        return [tf.while_loop(lambda i, _: i < 5, body, (tf.constant(0), x))[1]]

    x = np.random.default_rng(2).standard_normal((2, 6, 6, 4)).astype(np.float32)
    wanted = results(run, x, np.int32(9), tier="plan")
    for _ in range(3):
        found = results(run, x, np.int32(9), tier="compiled")
        assert agreement.difference(wanted, found) is None
        with pytest.raises(InvalidArgumentError, match="assertion failed"):
            results(run, x, np.int32(3), tier="compiled")
    assert networks_of(run)


def _spoken(words: int, width: int, heads: int, length: int) -> Any:
    """A decoder's loop as in `transformers`: a token, with its keys and values in a cache."""
    random = np.random.default_rng(5)

    def weight(*shape: int) -> Any:
        scale = 1.0 if shape[0] == words else shape[0] ** -0.5
        return tf.Variable(random.standard_normal(shape) * scale, dtype=tf.float32)

    table, first, last = weight(words, width), weight(width, 3 * width), weight(width, width)
    up, down, out = weight(width, 4 * width), weight(4 * width, width), weight(words, width)

    def split(x: Any) -> Any:
        return tf.transpose(tf.reshape(x, [1, 1, heads, width // heads]), [0, 2, 1, 3])

    def body(i: Any, said: Any, cache: Any, mask: Any) -> Any:
        word = tf.expand_dims(tf.reshape(said[:, i], [1]), 1)
        with tf.control_dependencies([tf.debugging.assert_less(word, words)]):
            x = tf.gather(table, tf.identity(word))
        flat = tf.reshape(x, [1, width]) @ first
        query, key, value = map(split, tf.split(tf.reshape(flat, [1, 1, 3 * width]), 3, axis=2))
        before, earlier = tf.unstack(cache)
        keys, values = tf.concat([before, key], 2), tf.concat([earlier, value], 2)
        scores = tf.matmul(query, keys, transpose_b=True) / (width / heads) ** 0.5
        scores = scores * np.ones((1, 1, 1, length + 1), "f4") - 0.0
        scores = tf.nn.softmax(scores + (1.0 - mask) * -1e4 + 1e-9)
        seen = tf.reshape(tf.transpose(scores @ values, [0, 2, 1, 3]), [1, width])
        x = tf.reshape(x, [1, width]) + seen @ last
        x = x + tf.nn.gelu(x @ up, approximate=True) @ down
        found = tf.argmax(tf.matmul(x, out, transpose_b=True), -1, output_type=tf.int32)
        said = tf.tensor_scatter_nd_update(said, [[0, i + 1]], found)
        new = tf.stack([key, value])
        place = tf.stack([0, 0, 0, i, 0])
        cache = tf.raw_ops.XlaDynamicUpdateSlice(input=cache, update=new, indices=place)
        mask = tf.raw_ops.XlaDynamicUpdateSlice(
            input=mask, update=[[[[1.0]]]], indices=tf.stack([0, 0, 0, i])
        )
        return i + 1, said, cache, mask

    @tf.function(input_signature=[tf.TensorSpec([1, length + 1], tf.int32)])
    def run(said: Any) -> Any:
        shape = [2, 1, heads, length, width // heads]
        mask = tf.concat([tf.zeros([1, 1, 1, length]), tf.ones([1, 1, 1, 1])], 3)
        start = (tf.constant(0), said, tf.zeros(shape), mask)
        _, said, cache, _ = tf.while_loop(lambda i, *_: i < length, body, start)
        return said, cache

    return run


def test_a_word_is_one_network() -> None:
    run = _spoken(words=23, width=32, heads=4, length=9)
    for word in (3, 7, 11):
        said = np.zeros((1, 10), np.int32)
        said[0, 0] = word
        wanted = results(run, said, tier="plan")
        found = results(run, said, tier="compiled")
        assert len(set(wanted[0].ravel().tolist())) > 2
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-5)
    (network,) = networks_of(run)
    assert not network.misses
    left = [step.node.op.name for step in loops_of(run).body.steps]
    assert left.count("BatchMatMulV2") == 2
    kinds = {layer.kind for layer in network.network.layers}
    assert "ATTENTION" in kinds
    assert "LOOKUP" in kinds


def test_a_product_of_activations_may_be_split() -> None:
    """Only a softmax makes it attention: the search continues after a step with several results."""
    random = np.random.default_rng(8)
    w, v = (tf.Variable(random.standard_normal((8, 8)), dtype=tf.float32) for _ in range(2))

    @tf.function(input_signature=[tf.TensorSpec([2, 6, 8], tf.float32)])
    def run(x: Any) -> Any:
        def heads(y: Any) -> Any:
            return tf.transpose(tf.reshape(y, [2, 6, 2, 4]), [0, 2, 1, 3])

        scores = tf.matmul(heads(x @ w), heads(x @ v), transpose_b=True) * 0.5
        left, right = tf.split(scores, 2, axis=-1)
        return [left - right]

    x = random.standard_normal((2, 6, 8)).astype(np.float32)
    wanted = results(run, x, tier="plan")
    for _ in range(2):
        np.testing.assert_allclose(
            results(run, x, tier="compiled")[0], wanted[0], rtol=1e-4, atol=1e-5
        )
