"""Eager ops on large arrays, pictures and texts, as programs that prepare data call them."""

import colorsys
import math
import re

import numpy as np

from harness import Case, Work

NUMBERS = 1 << 20
_random = np.random.default_rng(0)
# Of a million numbers, those whose results are compared.
SOME = slice(None, None, 997)


def activations_work(tf: object) -> Work:
    """Nine functions of a million floats, one by one."""
    given = (_random.standard_normal((1024, NUMBERS // 1024)) * 2).astype(np.float32)
    x = tf.constant(given)
    positive = tf.constant(np.abs(given) + np.float32(0.1))

    def run() -> list:
        return [
            tf.exp(x),
            tf.tanh(x),
            tf.sigmoid(x),
            tf.math.erf(x),
            tf.math.log(positive),
            tf.nn.elu(x),
            tf.nn.softplus(x),
            tf.nn.softmax(x),
            tf.where(x > 0, x, 0.5 * x),
        ]

    def check() -> None:
        wide = given.astype(np.float64)
        powers = np.exp(wide - wide.max(1, keepdims=True))
        wanted = [
            np.exp(wide),
            np.tanh(wide),
            1 / (1 + np.exp(-wide)),
            np.zeros(0),  # NumPy has no error function
            np.log(np.abs(given) + np.float32(0.1)),
            np.where(wide > 0, wide, np.expm1(wide)),
            np.logaddexp(wide, 0),
            powers / powers.sum(1, keepdims=True),
            np.where(wide > 0, wide, 0.5 * wide),
        ]
        expected = [one.reshape(-1)[SOME] for one in wanted]
        expected[3] = np.array([math.erf(number) for number in wide.reshape(-1)[SOME]])
        for found, numbers in zip(run(), expected, strict=True):
            np.testing.assert_allclose(
                found.numpy().reshape(-1)[SOME], numbers, rtol=1e-5, atol=1e-6
            )

    return Work(run=run, check=check)


def pictures_work(tf: object) -> Work:
    """Sixteen pictures: resized, then turned in hue, saturated, and given contrast."""
    pictures = _random.integers(0, 256, (16, 240, 320, 3), np.uint8)
    x = tf.constant(pictures)

    def run() -> object:
        y = tf.image.resize(x, [224, 224]) / 255.0
        y = tf.image.adjust_saturation(tf.image.adjust_hue(y, 0.1), 1.5)
        return y, tf.image.adjust_contrast(y, 1.2)

    def check() -> None:
        found, contrasted = (one.numpy() for one in run())
        resized = pictures.astype(np.float64) / 255
        for axis in (1, 2):
            size = resized.shape[axis]
            places = (np.arange(224) + 0.5) * (size / 224) - 0.5
            low = np.floor(places).astype(int)
            part = (places - low).reshape([-1 if n == axis else 1 for n in range(4)])
            first, second = (np.take(resized, np.clip(low + n, 0, size - 1), axis) for n in (0, 1))
            resized = first + (second - first) * part
        for n, row, column in ((0, 0, 0), (3, 100, 17), (15, 223, 223)):
            hue, saturation, value = colorsys.rgb_to_hsv(*resized[n, row, column])
            wanted = colorsys.hsv_to_rgb((hue + 0.1) % 1, min(1, saturation * 1.5), value)
            np.testing.assert_allclose(found[n, row, column], wanted, atol=2e-4)
        mean = found.astype(np.float64).mean((1, 2), keepdims=True)
        np.testing.assert_allclose(contrasted, (found - mean) * 1.2 + mean, atol=1e-5)

    return Work(run=run, check=check)


def texts_work(tf: object) -> Work:
    """Five thousand sentences: in lower case, without punctuation, split into words."""
    words = ["Alpha", "beta,", "GAMMA!", "(delta)", "Epsilon;", "zeta", "Eta's"]
    sentences = [" ".join(_random.choice(words, 12)) for _ in range(5_000)]
    x = tf.constant(sentences)

    def run() -> object:
        return tf.strings.split(tf.strings.regex_replace(tf.strings.lower(x), "[!(),;']", ""))

    def check() -> None:
        found = run().to_list()
        for row, sentence in zip(found, sentences, strict=True):
            assert row == re.sub("[!(),;']", "", sentence.lower()).encode().split()

    return Work(run=run, check=check)


CASES = {
    "activations": Case(
        title="nine functions of a million floats, eagerly", aims={}, work=activations_work
    ),
    "augmentation": Case(
        title="16 pictures resized, hue, saturation, contrast", aims={}, work=pictures_work
    ),
    "standardized_texts": Case(
        title="5,000 sentences: lower, regex_replace, split", aims={}, work=texts_work
    ),
}
