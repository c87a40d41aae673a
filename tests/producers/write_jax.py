"""Write SavedModels of JAX and of Keras on JAX, with the results of these libraries.

    KERAS_BACKEND=jax python write_jax.py FOLDER [--only NAME ...]

Each has a folder NAME with `model/` and `io.npz`, whose keys are `in/NAME` and `out/NAME`.
Functions are also written by `jax.export`, as `export.bin`; its module alone is `module.mlirbc`.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import jax.numpy as jnp
import keras
import numpy as np
import tensorflow as tf
from jax import export, lax
from jax.experimental import jax2tf

# Modules contain names of source files: these must not have folders of this machine.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
RNG = np.random.default_rng(2026)


def draw(*shape: int, dtype: str = "float32", high: int = 5) -> Any:
    if dtype.startswith(("int", "uint")):
        return RNG.integers(0, high, shape).astype(dtype)
    if dtype == "bool":
        return RNG.random(shape) > 0.5
    return RNG.standard_normal(shape).astype(dtype)


def weights(*shape: int) -> Any:
    return draw(*shape) / np.sqrt(shape[0])


W1, W2 = weights(6, 8), weights(8, 3)
KERNEL, DEEP = weights(3, 3, 3, 4), weights(3, 3, 1, 6)
IMAGE = ("NHWC", "HWIO", "NHWC")


def mlp(x: Any) -> Any:
    return jax.nn.softmax(jax.nn.gelu(x @ W1) @ W2)


def conv(x: Any, kernel: Any, **options: Any) -> Any:
    return lax.conv_general_dilated(x, kernel, dimension_numbers=IMAGE, **options)


def pool(x: Any, kind: Any, start: float, size: int = 2) -> Any:
    return lax.reduce_window(x, start, kind, (1, size, size, 1), (1, 2, 2, 1), "SAME")


def attention(x: Any) -> Any:
    q, k, v = (x @ weight for weight in QKV)
    scores = jnp.einsum("btd,bsd->bts", q, k) / np.sqrt(6.0)
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    y = jnp.einsum("bts,bsd->btd", jax.nn.softmax(jnp.where(mask, scores, -1e9)), v)
    mean = y.mean(-1, keepdims=True)
    return (y - mean) * lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)


QKV = [weights(6, 6) for _ in range(3)]


def lstm(xs: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ GATES[0] + h @ GATES[1], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((xs.shape[0], 4)), jnp.zeros((xs.shape[0], 4))
    (h, _), ys = lax.scan(step, start, jnp.swapaxes(xs, 0, 1))
    return h, jnp.swapaxes(ys, 0, 1)


GATES = (weights(6, 16), weights(4, 16))


def reducer(x: Any) -> Any:
    """A reduction with a custom region: the longest pair."""
    start = (jnp.float32(0), jnp.int32(0))
    places = lax.broadcasted_iota(jnp.int32, x.shape, 1)

    def longer(a: Any, b: Any) -> Any:
        first = jnp.abs(a[0]) >= jnp.abs(b[0])
        return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])

    return lax.reduce((x, places), start, longer, (1,))


def gathered(x: Any, i: Any) -> Any:
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1)
    )
    windows = lax.gather(x, jnp.stack([i, i], -1), numbers, (2, 3), mode="clip")
    return x[i], jnp.take_along_axis(x[:3], i[:, None], 1), windows


def scattered(x: Any, i: Any) -> Any:
    ones = jnp.ones((i.shape[0], x.shape[1]))
    return (
        x.at[i].set(ones),
        x.at[i].add(ones),
        x.at[:, 1].multiply(3.0),
        x.at[i, i].max(7.0),
        x.at[i + 3].min(-2.0, mode="drop"),
        x.at[i].apply(jnp.cos),
    )


def random_numbers(seed: Any) -> Any:
    key = jax.random.wrap_key_data(seed)
    first, second = jax.random.split(key)
    return (
        jax.random.normal(first, (3, 5)),
        jax.random.bits(second, (7,), jnp.uint32),
        jax.random.permutation(second, 9),
    )


def generated(state: Any) -> Any:
    bits = lax.rng_bit_generator
    return (
        *bits(state, (3, 5), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY),
        *bits(state, (4, 3), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY),
        *bits(state, (2, 7), algorithm=lax.RandomAlgorithm.RNG_PHILOX),
        *bits(state, (5,), jnp.uint8, algorithm=lax.RandomAlgorithm.RNG_DEFAULT),
    )


def whole_numbers(x: Any, y: Any) -> Any:
    return (
        *(x + y, x * y, x - y, x & y, x | y, x ^ y, ~x),
        *(lax.div(x, y), lax.rem(x, y), x // jnp.maximum(y, 1), x % jnp.maximum(y, 1)),
        *(x << y, x >> y, lax.shift_right_logical(x, y)),
        *(lax.population_count(x), lax.clz(x), x.astype(jnp.float32), x.astype(jnp.uint8)),
        *(jnp.sign(x - 2), jnp.abs(-x), x**2, lax.integer_pow(x, 3)),
    )


def to_whole(x: Any) -> Any:
    big = x * jnp.float32(1e9)
    return [
        (big * scale).astype(kind)
        for scale in (1.0, 1e3)
        for kind in (jnp.int32, jnp.int8, jnp.uint8, jnp.uint32)
    ] + [jnp.where(x > 0, jnp.nan, x).astype(jnp.int32)]


def special(x: Any) -> Any:
    s = jax.scipy.special
    y = jnp.abs(x) + 0.3
    return (
        *(s.erf(x), s.erfc(x), s.gammaln(y), s.digamma(y), s.erfinv(jnp.tanh(x))),
        *(jnp.arcsinh(x), jnp.arctanh(jnp.tanh(x)), jnp.arccosh(y + 1), jnp.sinh(x), jnp.cosh(x)),
        *(jnp.arcsin(jnp.tanh(x)), jnp.arccos(jnp.tanh(x)), jnp.arctan2(x, y), jnp.cbrt(x)),
        *(
            jnp.expm1(x),
            jnp.log1p(y),
            jnp.round(x * 3),
            jnp.sign(x),
            jnp.tan(x),
            jnp.nextafter(x, y),
        ),
        *(
            jnp.logaddexp(x, y),
            jax.nn.silu(x),
            s.i1e(x),
            jnp.floor(x),
            jnp.ceil(x),
            jnp.isfinite(x),
        ),
    )


def sorted_ways(x: Any) -> Any:
    return (
        *(jnp.sort(x, 0), jnp.sort(x, 1), -jnp.sort(-x, 1), jnp.argsort(x, 1)),
        *lax.sort((jnp.round(x), x, x * 2), dimension=1, num_keys=2),
        *(jnp.median(x, 1), jnp.quantile(x, 0.3), *lax.top_k(x, 3)),
        jnp.searchsorted(jnp.sort(x[0]), x[1]),
    )


def cumulated(x: Any) -> Any:
    return (
        *(jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cummin(x, 0)),
        *(lax.cumlogsumexp(x, 1), lax.cumsum(x, 1, reverse=True), jnp.diff(x, axis=1)),
        lax.associative_scan(jnp.maximum, x, axis=1),
    )


def looped(x: Any, n: Any) -> Any:
    grown = lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 1.1), (0, x))[1]
    added = lax.fori_loop(0, 5, lambda i, y: y + i * x, x)
    chosen = lax.cond(n > 3, lambda: x + 1, lambda: x - 1)
    branch = lax.switch(n, [lambda: x, lambda: x * 2, lambda: x.T.reshape(x.shape)])
    return grown, added, chosen, branch, lax.map(lambda row: row.sum() * row, x)


def decoded(cache: Any, token: Any, at: Any) -> Any:
    cache = lax.dynamic_update_slice(cache, token, (0, at, 0))
    return cache, lax.dynamic_slice(cache, (0, at - 1, 1), (2, 3, 2)), cache[:, at]


def linear_algebra(x: Any) -> Any:
    square = x @ jnp.swapaxes(x, -1, -2) + 3 * jnp.eye(x.shape[-2])
    lower = jnp.linalg.cholesky(square)
    solve = jax.scipy.linalg.solve_triangular
    return (
        *(lower, solve(lower, x, lower=True), solve(lower, x, lower=True, trans=1)),
        *(jnp.linalg.inv(square), jnp.linalg.det(square), jnp.linalg.solve(square, x)),
        *(jnp.linalg.eigvalsh(square), jnp.linalg.svd(x, compute_uv=False)),
        jnp.linalg.slogdet(square)[1],
    )


def qr(x: Any) -> Any:
    q, r = jnp.linalg.qr(x)
    whole, _ = jnp.linalg.qr(x, mode="complete")
    return q, r, whole


def halves(x: Any) -> Any:
    small = x.astype(jnp.bfloat16)
    half = x.astype(jnp.float16)
    return (
        (small * 2 + 1).astype(jnp.float32),
        (half @ half.T).astype(jnp.float32),
        x.astype(jnp.float8_e4m3fn).astype(jnp.float32),
        lax.reduce_precision(x, 5, 7),
    )


def products(x: Any, y: Any) -> Any:
    dot = lax.dot_general
    return (
        *(dot(x, y, (((2,), (2,)), ((0,), (0,)))), dot(x, y, (((1, 2), (1, 2)), ((), ())))),
        *(dot(x, y, (((1,), (1,)), ((0,), (0,)))), jnp.einsum("bij,bkj->bik", x, y)),
        *(jnp.einsum("bij,bkj->", x, y), jnp.tensordot(x, y, 0)[0, 0, 0], x @ W1[:4]),
        dot(
            (x * 9).astype(jnp.int8),
            (y * 9).astype(jnp.int8),
            (((2,), (2,)), ((0,), (0,))),
            preferred_element_type=jnp.int32,
        ),
    )


def convolutions(x: Any) -> Any:
    return (
        *(conv(x, KERNEL, window_strides=(1, 1), padding="SAME"),),
        *(conv(x, KERNEL, window_strides=(2, 1), padding=((1, 2), (0, 1))),),
        *(conv(x, KERNEL, window_strides=(1, 1), padding="VALID", rhs_dilation=(2, 2)),),
        *(conv(x, KERNEL, window_strides=(1, 1), padding=((2, 2), (2, 2)), lhs_dilation=(2, 2)),),
        *(conv(x, DEEP, window_strides=(1, 1), padding="SAME", feature_group_count=3),),
        lax.conv_transpose(x, KERNEL, (2, 2), "SAME", dimension_numbers=IMAGE),
        lax.conv(jnp.moveaxis(x, 3, 1), jnp.transpose(KERNEL, (3, 2, 0, 1)), (1, 1), "SAME"),
        lax.conv_general_dilated(
            x[:, :, 0], KERNEL[0], (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
        ),
        lax.conv_general_dilated(
            x[..., None, :],
            KERNEL[..., None, :, :].reshape(3, 3, 1, 3, 4),
            (1, 1, 1),
            "SAME",
            dimension_numbers=("NHWDC", "HWDIO", "NHWDC"),
        ),
    )


def convolutions_backwards(x: Any) -> Any:
    def loss(x: Any, kernel: Any) -> Any:
        y = conv(x, kernel, window_strides=(2, 2), padding="SAME")
        return jnp.sum(jnp.sin(pool(y, lax.max, -jnp.inf)))

    return jax.grad(loss, (0, 1))(x, KERNEL)


def spread(x: Any) -> Any:
    """Convolutions of dilated images: transposed ones, gradients, and others."""
    transposed, wide = lax.conv_transpose, KERNEL.transpose(0, 1, 3, 2)
    row, volume = ("NWC", "WIO", "NWC"), ("NHWDC", "HWDIO", "NHWDC")
    deep = KERNEL[..., None, :, :].reshape(3, 3, 1, 3, 4)
    gaps = {"window_strides": (1, 1), "lhs_dilation": (2, 2)}

    def strided(y: Any) -> Any:
        return conv(y, KERNEL, window_strides=(2, 3), padding=((1, 0), (2, 1)))

    return (
        *(transposed(x, KERNEL, (2, 2), pad, dimension_numbers=IMAGE) for pad in ("SAME", "VALID")),
        *(transposed(x, KERNEL[:2], (2, 3), "SAME", dimension_numbers=IMAGE),),
        *(transposed(x, KERNEL[:, :1], (4, 3), "VALID", dimension_numbers=IMAGE),),
        transposed(x, wide, (2, 2), "SAME", dimension_numbers=IMAGE, transpose_kernel=True),
        transposed(x[:, :, 0], KERNEL[0], (2,), "SAME", dimension_numbers=row),
        transposed(x[:, :, 0], KERNEL[0], (3,), ((2, 3),), dimension_numbers=row),
        transposed(x[..., None, :], deep, (2, 2, 1), "SAME", dimension_numbers=volume),
        transposed(x[..., None, :], deep, (2, 1, 1), "VALID", dimension_numbers=volume),
        transposed(x[..., None, :], deep, (2, 2, 1), ((1, 1),) * 3, dimension_numbers=volume),
        *(conv(x, KERNEL, padding=pad, **gaps) for pad in (((1, 2), (1, 2)), ((0, 2), (2, 1)))),
        *(conv(x, KERNEL, padding=pad, **gaps) for pad in (((2, 4), (2, 3)), ((2, 5), (2, 2)))),
        *(conv(x, KERNEL, padding=pad, **gaps) for pad in (((3, 2), (2, 2)), ((-1, 2), (2, -1)))),
        # Not gradients in TensorFlow: with a dilated kernel, groups, or strides, too.
        conv(x, KERNEL, padding=((2, 2), (3, 3)), rhs_dilation=(2, 1), **gaps),
        conv(x, DEEP, padding=((2, 2), (2, 2)), feature_group_count=3, **gaps),
        conv(x, KERNEL, window_strides=(2, 1), padding=((2, 2), (1, 1)), lhs_dilation=(2, 3)),
        jax.vjp(strided, x)[1](strided(x)),
    )


def taken(table: Any, i: Any) -> Any:
    """Rows by index: NaN, the nearest or any row if out of range; and similar gathers."""
    inside = (i >= 0) & (i <= 4)
    rows = table[jnp.clip(i, 0, 4)]
    picked = jnp.take(table, i, axis=0)
    return (
        *(picked, jnp.take(table, i, axis=1), jnp.take(table, i, axis=0, mode="clip")),
        *(jnp.take(table, i, axis=0, mode="wrap"), table[i], table.at[i].get(mode="fill")),
        jnp.take(table, i, axis=0, fill_value=-1.5),
        jnp.take(table.astype(jnp.int32), i, axis=0),
        jnp.take(table, i[:, :, None], axis=0),
        jnp.take(table, i[0, 0], axis=0),
        *(picked @ W1, jnp.take(table, i, axis=0, mode="clip") @ W1, table[i] @ W1),
        # Similar gathers: other bounds, and a choice of another tensor.
        jnp.where(inside[..., None], table[jnp.clip(i, 0, 3)], jnp.nan),
        jnp.where((i >= 0)[..., None], rows, jnp.nan),
        jnp.where(((i >= 1) & (i <= 4))[..., None], rows, jnp.nan),
        jnp.where(((i >= 0) & (i <= 3))[..., None], rows, jnp.nan),
        jnp.where((i.T.reshape(i.shape) >= 0)[..., None] & inside[..., None], rows, jnp.nan),
        jnp.where(inside[..., None], rows * 2, jnp.nan),
        jnp.where(inside[..., None], jnp.nan, rows),
    )


def pools(x: Any) -> Any:
    return (
        *(pool(x, lax.max, -jnp.inf), pool(x, lax.add, 0.0, 3), pool(x, lax.min, jnp.inf)),
        lax.reduce_window(x, 1.0, lax.mul, (1, 2, 1, 2), (1, 1, 1, 1), "VALID"),
        lax.reduce_window(
            x, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "VALID", window_dilation=(1, 2, 2, 1)
        ),
        lax.reduce_window(
            x, 0.0, lambda a, b: jnp.maximum(a, b * 0.5), (1, 2, 2, 1), (1, 1, 1, 1), "VALID"
        ),
        jax.grad(lambda y: jnp.sum(jnp.cos(pool(y, lax.max, -jnp.inf, 3))))(x),
        jax.image.resize(x, (x.shape[0], 10, 9, 3), "bilinear"),
    )


def averaged(x: Any) -> Any:
    """Means over windows, with and without the padding counted; and similar functions."""

    def total(y: Any, size: Any, step: Any, pad: Any) -> Any:
        return lax.reduce_window(y, 0.0, lax.add, size, step, pad)

    def mean(y: Any, size: Any, step: Any, pad: Any, ones: Any = None) -> Any:
        count = jnp.ones([n if k > 1 else 1 for n, k in zip(y.shape, size, strict=True)])
        if ones is not None:
            count = ones
        return total(y, size, step, pad) / total(count, size, step, pad)

    two, three, one = (1, 2, 2, 1), (1, 3, 2, 1), (1, 1, 1, 1)
    most = functools.partial(lax.reduce_window, init_value=-jnp.inf, computation=lax.max)
    row, volume = x[:, :, 0], x[..., None, :] * jnp.arange(4.0)[:, None]
    return (
        *(total(x, two, two, "VALID") / 4, mean(x, three, two, "SAME"), mean(x, two, one, "SAME")),
        *(mean(x, two, two, "VALID"), mean(row, (1, 3, 1), (1, 2, 1), "SAME")),
        total(row, (1, 2, 1), (1, 2, 1), "VALID") / 2.0,
        mean(x.transpose(0, 3, 1, 2), (1, 1, 3, 2), (1, 1, 2, 1), "SAME"),
        mean(volume, (1, 2, 3, 2, 1), (1, 2, 2, 2, 1), "SAME"),
        total(volume, (1, 2, 2, 3, 1), (1, 1, 2, 1, 1), "VALID") / 12,
        most(
            volume,
            window_dimensions=(1, 3, 2, 2, 1),
            window_strides=(1, 2, 2, 1, 1),
            padding="SAME",
        ),
        most(row, window_dimensions=(1, 3, 1), window_strides=(1, 2, 1), padding="SAME"),
        most(row[0], window_dimensions=(3, 1), window_strides=(2, 1), padding="VALID"),
        most(x[0], window_dimensions=(3, 2, 1), window_strides=(2, 1, 1), padding="SAME"),
        most(
            x,
            window_dimensions=(1, 3, 3, 1),
            window_strides=two,
            padding=((0, 0), (1, 1), (1, 1), (0, 0)),
        ),
        # Counts with other windows or padding than the sum's, and counts of something else.
        *(total(x, two, two, "VALID") / 3, mean(x, three, two, ((0, 0), (1, 0), (0, 1), (0, 0)))),
        total(x, three, two, "SAME") / total(jnp.ones((1, *x.shape[1:3], 1)), two, two, "SAME"),
        mean(x, three, two, "SAME", jnp.full((1, *x.shape[1:3], 1), 2.0)),
        mean(x, three, two, "SAME", jnp.abs(x[:1, :, :, :1])),
        total(x, three, two, "SAME") / 6,
    )


def shaped(x: Any) -> Any:
    zero = jnp.float32(0)
    return (
        *(x.reshape(x.shape[0] * 3, 2), x.T, x[::-1], jnp.concatenate([x, x * 2], 1)),
        *(jnp.broadcast_to(x[:, None], (x.shape[0], 2, 6)), jnp.pad(x, 1), jnp.tile(x, (2, 1))),
        *(lax.pad(x, zero, ((0, 0, 1), (-1, 2, 2))), lax.pad(x, x[0, 0], ((1, 0, 2), (0, 0, 0)))),
        *(jnp.stack([x, x]), jnp.arange(6.0) + x, jnp.eye(6) @ x.T, jnp.triu(x @ x.T)),
        *(jnp.clip(x, -0.5, 0.5), jnp.where(x > 0, x, 0), x.mean(), x.std(1), jnp.argmax(x, 1)),
        *(jnp.argmin(x, 0), jnp.any(x > 2), jnp.all(x > -9, 0), jnp.prod(x, 1), jnp.ptp(x, 0)),
        jax.nn.one_hot(jnp.argmax(x, 1), 6),
    )


def dynamic(x: Any) -> Any:
    rows = x.shape[0]
    return (
        *(jnp.cumsum(x, 0), x[: rows - 1], jnp.arange(rows) * 2, jnp.ones((rows, 2)) + rows),
        *(
            x.reshape(-1),
            jnp.concatenate([x, x], 0),
            x.sum(0),
            x.mean(),
            jnp.pad(x, ((1, 2), (0, 0))),
        ),
        *(x[::-1], x @ x.T, jax.nn.softmax(x, 0), jnp.repeat(x, 2, 0)),
        lax.dynamic_slice(x, (1, 0), (rows - 1, 2)),
    )


def scans(x: Any) -> Any:
    """Counting loops that read and write rows; and some that only look similar."""
    xs = jnp.swapaxes(x, 0, 1)
    n, zero = xs.shape[0], jnp.zeros(xs.shape[1:])

    def added(carry: Any, row: Any) -> Any:
        return carry * 0.5 + row, (carry - row, row > carry)

    def inner(carry: Any, row: Any) -> Any:
        last, rows = lax.scan(lambda c, r: (c + r * row.sum(), c * 2), carry, xs)
        return last * 0.1, rows[1]

    fori, at = lax.fori_loop, lax.dynamic_index_in_dim
    return (
        lax.scan(added, zero, xs),
        lax.scan(added, zero, xs, reverse=True),
        lax.scan(added, zero, xs, unroll=2),
        lax.scan(added, zero, xs[:1]),
        lax.scan(added, zero, xs[:0]),
        lax.scan(lambda c, _: (c + 1.5, c), jnp.float32(2), None, length=4),
        lax.scan(lambda c, r: (c + r[0], None), zero, (xs, xs * 2))[0],
        lax.scan(inner, zero, xs),
        lax.map(lambda row: row.sum(-1), xs),
        # Written arrays are read, too; rows before and after; from the end; every second one.
        fori(0, n, lambda i, y: y.at[i].set(y[i] * 2 + i), xs),
        fori(1, n, lambda i, y: y.at[i].set(y[i - 1] + xs[i]), xs),
        fori(0, n, lambda i, y: y.at[i].set(at(xs, i + 1, 0, keepdims=False)), xs),
        fori(0, n, lambda i, y: y.at[n - 1 - i].set(xs[i]), jnp.zeros_like(xs)),
        fori(0, n - 1, lambda i, y: y.at[i].set(xs[i] * 3), xs),
        fori(0, n, lambda i, y: y.at[0].set(y[0] + xs[i]), xs),
        lax.while_loop(
            lambda s: s[0] < n,
            lambda s: (s[0] + 2, lax.dynamic_update_slice(s[1], xs[:1] * s[0], (s[0], 0, 0))),
            (0, xs),
        )[1],
        fori(0, n, lambda i, s: (s[0].at[i].set(xs[i]), s[1] + s[0].sum()), (xs * 0, zero))[1],
        fori(0, n, lambda i, s: (s[1], s[0].at[i].set(xs[i])), (xs * 0, xs)),
    )


def fourier(x: Any) -> Any:
    z = jnp.fft.fft(x)
    y = jnp.fft.rfft2(x)
    return (
        *(jnp.real(z), jnp.abs(jnp.fft.ifft(z)), jnp.fft.irfft2(y, x.shape), jnp.imag(y)),
        *(jnp.real(z * (1 + 2j) / (z + 3)), jnp.angle(z), jnp.real(jnp.conj(z) @ z.T)),
    )


def nested(x: Any) -> Any:
    @jax.jit
    def inner(y: Any) -> Any:
        return jnp.tanh(y) * 2

    @jax.checkpoint
    def outer(y: Any) -> Any:
        return inner(inner(y)) + inner(y + 1)

    return {
        "first": outer(x),
        "second": [jax.vmap(outer)(x), jax.grad(lambda y: outer(y).sum())(x)],
    }


def gradient(x: Any) -> Any:
    return jax.value_and_grad(lambda y: -jnp.log(mlp(y)[:, 0]).mean())(x)


def curves(x: Any) -> Any:
    """Activations, each of which is one op of TensorFlow, and one that is not."""
    nn, special = jax.nn, jax.scipy.special
    return (
        *(nn.relu6(x), nn.sigmoid(x), nn.silu(x), nn.softplus(x), nn.log_sigmoid(x), nn.elu(x)),
        *(nn.selu(x), nn.leaky_relu(x), nn.soft_sign(x), nn.gelu(x, False), nn.gelu(x, True)),
        *(nn.hard_swish(x), nn.mish(x), nn.celu(x, 0.7), special.erf(x), special.erfc(x)),
        *(nn.softmax(x), nn.log_softmax(x), nn.softmax(x, 0), nn.logsumexp(x, 1), nn.relu(x)),
        *(jnp.where(x >= 0, x, x * 2), jnp.where(x > 0, x, x * 0.1), 1 / (1 + jnp.exp(x))),
    )


def powers(x: Any) -> Any:
    size = jnp.abs(x)
    whole = (lax.integer_pow(x, n) for n in (-3, -1, 0, 1, 2, 3, 4, 5, 7, 16, 31))
    return (
        *(*whole, x**3, jnp.power(x, 3.0), jnp.power(x, -2.0), jnp.power(x, jnp.float32(4))),
        *(size**0.5, size**1.5, size**-0.5, size**2.5, jnp.power(2.0, x)),
    )


# NaN, infinities, both zeros, numbers that overflow when taken to a power, and small ones.
STRANGE = np.array(
    [
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0],
        [1e-30, -1e-30, 30.0, -30.0, 100.0, -100.0],
        [88.5, -88.5, 9.5, -9.5, 1e-3, -1e-3],
        [1.0, -1.0, 2.5, -2.5, 3.0, 6.0],
        [-np.inf] * 6,
    ],
    np.float32,
)
SCALE, OFFSET = np.linspace(0.5, 1.5, 8, dtype="f"), np.linspace(-1, 1, 8, dtype="f")


def norms(x: Any) -> Any:
    """Normalizations as in Flax and others: with the mean of squares, without it, over groups."""

    def normal(x: Any, axes: Any, fast: bool) -> Any:
        mean = x.mean(axes)
        spread = jnp.maximum(0, (x * x).mean(axes) - mean * mean) if fast else x.var(axes)
        mean, spread = (jnp.expand_dims(one, axes) for one in (mean, spread))
        return (x - mean) * lax.rsqrt(spread + 1e-6)

    groups = x.reshape(x.shape[0], 6, 2, 4)
    return (
        normal(x, -1, True) * SCALE + OFFSET,
        normal(x, (1, 2), False),
        normal(groups, (1, 3), True).reshape(x.shape),
        x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * SCALE,
        x / jnp.linalg.norm(x, axis=-1, keepdims=True),
        jax.nn.standardize(x),
        (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-3),
        (x.sum(1, keepdims=True) / 6.0, x.sum(1) / 5.0, x.mean(1), jnp.ptp(x, 2, keepdims=True)),
    )


HEADS = [np.sin(np.arange(192, dtype="f") * k).reshape(8, 4, 6) for k in (1, 2, 3)]


def heads(x: Any, mask: Any) -> Any:
    """Attention as in JAX and Keras, as in Flax, and with fewer keys than queries."""
    q, k, v = (jnp.einsum("btd,dnh->btnh", x, one) for one in HEADS)
    seen = mask[:, None, None, :]
    scores = jnp.einsum("...qhd,...khd->...hqk", q / np.float32(6**0.5), k)
    scores = jnp.where(seen, scores, jnp.finfo("float32").min)
    attention = jax.nn.dot_product_attention
    return (
        attention(q, k, v),
        attention(q, k, v, mask=seen),
        attention(q, k, v, is_causal=True),
        attention(q, k[:, :, :2], v[:, :, :2]),
        jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(scores), v),
        jnp.einsum("btnh,btnh->bnt", q, k)[:, None, :, :, None] * 2,
    )


def counted(x: Any) -> Any:
    """Loops with several states, backwards, nested, and over integers."""
    xs = jnp.swapaxes(x, 0, 1)
    n, zero, three = xs.shape[0], jnp.zeros(xs.shape[1:]), jnp.int32(3)

    def several(carry: Any, row: Any) -> Any:
        a, b, k = carry
        a = jnp.tanh(a + (0.0 if row is None else row))
        return (a, b * 0.5 + a * k, k + 2), (b.sum(-1), k)

    def inside(carry: Any, row: Any) -> Any:
        last, rows = lax.scan(
            lambda c, k: (c * 0.5 + row * k, c), carry, xs[:3, :, :1], reverse=True
        )
        return last, rows[0] - rows[2]

    fori = lax.fori_loop
    return (
        lax.scan(several, (zero, zero + 1, three), xs),
        lax.scan(several, (zero, zero + 1, three), xs, reverse=True),
        lax.scan(several, (zero, zero + 1, three), None, length=4),
        lax.scan(several, (zero, zero + 1, three), None, length=4, reverse=True),
        lax.scan(inside, zero, xs, reverse=True),
        lax.map(lambda i: xs[i] * 2, jnp.arange(n - 1, -1, -1)),
        fori(0, n, lambda i, c: jnp.tanh(c) + xs[i], zero),
        fori(1, n, lambda i, c: c * 0.5 + xs[n - 1 - i] * i, zero),
        fori(0, n, lambda i, c: c * 0.5 + xs[2 * i], zero),
        fori(0, n, lambda i, c: jnp.where(i < 2, c + 1, c * 2), zero),
        fori(three, three + n, lambda i, c: c + xs[i - three] * i, zero),
    )


PROJECTED = [weights(6, 9), weights(6, 4), weights(9, 9), draw(9)]


def projected(x: Any) -> Any:
    """Loops over products of rows with weights: small ones, large ones, and with other readers."""
    wide, narrow, state, bias = PROJECTED
    large = jnp.tile(wide, (1, 304))

    def scan(ys: Any, way: Any = None, **options: Any) -> Any:
        def turn(c: Any, y: Any) -> Any:
            y = y if way is None else way(y, c)
            c = jnp.tanh(y[:, :9] + c @ state)
            return c, c[:, 0]

        return lax.scan(turn, jnp.zeros((x.shape[0], 9)), ys, **options)

    def fori(ys: Any, way: Any) -> Any:
        zero = jnp.zeros((x.shape[0], 9))
        return lax.fori_loop(0, 5, lambda i, c: jnp.tanh(way(ys, i) + c @ state), zero)

    turned = jnp.swapaxes
    return (
        *(scan(turned(x @ wide + bias, 0, 1)), scan(turned(x @ wide, 0, 1), reverse=True)),
        *(scan(turned(x, 0, 1) @ wide + bias), scan(bias + turned(x @ wide, 0, 1))),
        scan(turned(x @ wide + bias, 0, 1), lambda y, c: y * jnp.sin(y) + c),
        # Too large, narrower than the rows, changed, or two rows or all of them in an iteration.
        scan(turned(x @ large, 0, 1)),
        scan(turned(x @ narrow, 0, 1), lambda y, c: c + y.sum(1, keepdims=True)),
        scan(jnp.tanh(turned(x @ wide + bias, 0, 1))),
        scan(turned(x @ wide + x[..., :1], 0, 1)),
        fori(turned(x @ wide + bias, 0, 1), lambda ys, i: ys[i] - ys[4 - i]),
        fori(turned(x @ wide + bias, 0, 1), lambda ys, i: ys[i] + ys.mean(0)),
        fori(turned(x @ wide + bias, 0, 1), lambda ys, i: ys[i, :, ::-1]),
        scan(turned(x @ wide + bias, 0, 2)[:, :1].transpose(0, 2, 1) * jnp.ones(9)),
    )


def last_rows(x: Any) -> Any:
    """The last row of a scan, which may be its state; and similar ones."""
    xs, flip = jnp.swapaxes(x, 0, 1), jnp.flip

    def rows(way: Any = None, **options: Any) -> Any:
        def turn(carry: Any, row: Any) -> Any:
            a, b = carry
            after = jnp.where(row > 0, jnp.tanh(a + row), a), b * 0.5 + a
            return after, (after[0] if way is None else way(carry, after, row))

        return lax.scan(turn, (xs[0], xs[1] * 0.1), xs, **options)[1]

    again = rows(lambda _, after, row: jnp.where(row > 0, after[0], after[0]))
    return (
        *(
            rows()[-1],
            rows()[4],
            rows()[4:],
            rows(reverse=True)[0],
            flip(rows(reverse=True), 0)[-1],
        ),
        *(rows(lambda *both: both[1][1])[-1], rows(lambda c, _, row: (row, c[0]))[1][-1]),
        rows(lambda c, _, row: jnp.where(row > 0, jnp.tanh(c[0] + row), c[0]))[-1],
        jnp.where(~(x[:, 0] > 0), x[:, 1], x[:, 2]),
        # Another row, not a state, the previous state, and other orders.
        *(rows()[-2], rows()[3:], rows(reverse=True)[-1], flip(rows(), 0)[-1], again[-1]),
        rows(lambda *both: both[1][0] * 2)[-1],
        rows(lambda *both: both[0][0])[-1],
        rows(lambda c, _, row: jnp.where(row > 0.1, jnp.tanh(c[0] + row), c[0]))[-1],
        rows(lambda c, _, row: jnp.where(row > 0, c[0], jnp.tanh(c[0] + row)))[-1],
    )


BATCH = "b, ..."
# Indices of rows, of which there are five.
OUTSIDE = np.array([[0, 4, 5, -1, -5, -6], [2, 3, 1, 100, -100, 4]], np.int32)
# name -> function, inputs, polymorphic shapes (None: all sizes are known).
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "mlp": (mlp, (draw(3, 6),), (BATCH,)),
    "attention": (attention, (draw(2, 5, 6),), ("b, t, ...",)),
    "lstm": (lstm, (draw(2, 5, 6),), (BATCH,)),
    "reducer": (reducer, (draw(4, 21),), (BATCH,)),
    "gathered": (gathered, (draw(5, 6), draw(3, dtype="int32")), None),
    "gathered_rows": (lambda x, i: x[i], (draw(5, 6), draw(3, dtype="int32")), (None, "b")),
    "scattered": (scattered, (draw(5, 6), draw(3, dtype="int32")), None),
    "random": (random_numbers, (draw(2, dtype="uint32", high=1 << 31),), None),
    "generated": (generated, (draw(4, dtype="uint32", high=1 << 31),), None),
    "whole_numbers": (
        whole_numbers,
        (draw(4, 5, dtype="int32", high=99), draw(4, 5, dtype="int32")),
        None,
    ),
    "small_numbers": (
        whole_numbers,
        (draw(4, 5, dtype="uint8", high=99), draw(4, 5, dtype="uint8")),
        None,
    ),
    "to_whole": (to_whole, (draw(5, 7),), (BATCH,)),
    "special": (special, (draw(4, 6),), (BATCH,)),
    "sorted": (sorted_ways, (draw(4, 9),), None),
    "cumulated": (cumulated, (draw(4, 9),), None),
    "looped": (looped, (draw(4, 4), np.int32(4)), None),
    "decoded": (decoded, (draw(2, 8, 3), draw(2, 1, 3), np.int32(6)), None),
    "linear_algebra": (linear_algebra, (draw(2, 4, 4),), None),
    "qr": (qr, (draw(5, 3),), None),
    "halves": (halves, (draw(4, 4),), None),
    "products": (products, (draw(2, 3, 4), draw(2, 3, 4)), None),
    "convolutions": (convolutions, (draw(2, 8, 9, 3),), None),
    "convolutions_of_batches": (
        lambda x: conv(x, KERNEL, window_strides=(1, 1), padding="SAME"),
        (draw(2, 8, 9, 3),),
        (BATCH,),
    ),
    "convolutions_backwards": (convolutions_backwards, (draw(2, 8, 9, 3),), None),
    "pools": (pools, (draw(2, 8, 9, 3),), None),
    "pools_of_batches": (lambda x: pool(x, lax.max, -jnp.inf), (draw(2, 8, 9, 3),), (BATCH,)),
    "shaped": (shaped, (draw(6, 6),), None),
    "dynamic": (dynamic, (draw(4, 3),), (BATCH,)),
    "fourier": (fourier, (draw(4, 8),), None),
    "nested": (nested, (draw(3, 4),), (BATCH,)),
    "gradient": (gradient, (draw(3, 6),), None),
    "scans": (scans, (draw(2, 5, 6),), None),
    "scans_of_batches": (scans, (draw(2, 5, 6),), (BATCH,)),
    "curves": (curves, (STRANGE,), (BATCH,)),
    "curves_of_known_size": (curves, (STRANGE,), None),
    "powers": (powers, (STRANGE[:4],), (BATCH,)),
    "norms": (norms, (draw(3, 6, 8),), (BATCH,)),
    "heads": (heads, (draw(3, 5, 8), draw(3, 5, dtype="bool")), (BATCH, BATCH)),
    "counted": (counted, (draw(2, 5, 6),), (BATCH,)),
    "spread": (spread, (draw(2, 5, 6, 3),), (BATCH,)),
    "spread_of_known_size": (spread, (draw(2, 5, 6, 3),), None),
    "averaged": (averaged, (draw(2, 7, 6, 3),), (BATCH,)),
    "averaged_of_known_size": (averaged, (draw(2, 7, 6, 3),), None),
    "projected": (projected, (draw(3, 5, 6),), (BATCH,)),
    "projected_of_known_size": (projected, (draw(3, 5, 6),), None),
    "last_rows": (last_rows, (draw(3, 5, 6),), (BATCH,)),
    "last_rows_of_known_size": (last_rows, (draw(3, 5, 6),), None),
    "taken": (taken, (draw(5, 6), OUTSIDE), (None, BATCH)),
    "unused": (
        lambda x, _, y: {"b": jnp.tanh(x), "a": [y + 1, y]},
        (draw(3, 6), draw(3, dtype="int32"), draw(2)),
        None,
    ),
}

L = keras.layers


def block() -> Any:
    """A vision transformer's block: attention and two dense layers, each after a norm."""
    x = inputs = keras.Input((9, 12))
    y = L.LayerNormalization()(x)
    x = x + L.MultiHeadAttention(3, 4)(y, y)
    y = L.LayerNormalization()(x)
    return keras.Model(inputs, x + L.Dense(12)(L.Dense(24, activation="gelu")(y)))


# name -> the shape of an example, and the layers behind the input.
LAYERS: dict[str, tuple[tuple[int, ...], list[Any]]] = {
    "dense": ((6,), [L.Dense(8, "gelu"), L.Dropout(0.5), L.Dense(3, "softmax")]),
    "activations": (
        (6,),
        [L.Dense(8, "silu"), L.LeakyReLU(), L.PReLU(), L.ELU(), L.Dense(4, "selu"), L.Softmax()],
    ),
    "normalisations": (
        (5, 6),
        [
            L.BatchNormalization(),
            L.LayerNormalization(),
            L.GroupNormalization(2),
            L.UnitNormalization(),
        ],
    ),
    "image": (
        (9, 8, 3),
        [
            L.Conv2D(4, 3, padding="same", activation="relu"),
            L.BatchNormalization(),
            L.MaxPooling2D(),
            L.DepthwiseConv2D(3),
            L.GlobalAveragePooling2D(),
            L.Dense(3),
        ],
    ),
    "images": (
        (9, 8, 3),
        [
            L.Conv2DTranspose(4, 3, 2),
            L.SeparableConv2D(5, 3),
            L.AveragePooling2D(2),
            L.UpSampling2D(),
            L.ZeroPadding2D(1),
            L.Cropping2D(1),
            L.Conv2D(4, 3, dilation_rate=2),
            L.GlobalMaxPooling2D(),
        ],
    ),
    "rows": (
        (9, 3),
        [
            L.Conv1D(4, 3, padding="causal"),
            L.MaxPooling1D(),
            L.Conv1DTranspose(3, 2),
            L.AveragePooling1D(2),
            L.UpSampling1D(),
            L.ZeroPadding1D(),
            L.Cropping1D(),
            L.GlobalMaxPooling1D(),
        ],
    ),
    "volumes": ((5, 6, 7, 2), [L.Conv3D(3, 2), L.MaxPooling3D(), L.GlobalAveragePooling3D()]),
    "lstm": (
        (5, 3),
        [L.LSTM(4, return_sequences=True), L.GRU(3, return_sequences=True), L.SimpleRNN(4)],
    ),
    "bidirectional": (
        (5, 3),
        [L.Bidirectional(L.LSTM(4)), L.RepeatVector(3), L.TimeDistributed(L.Dense(2))],
    ),
    "convolutional_lstm": ((3, 6, 6, 2), [L.ConvLSTM2D(3, 3)]),
    "transformer": ((9, 12), [block(), block()]),
    "shapes": (
        (4, 6),
        [L.Reshape((6, 4)), L.Permute((2, 1)), L.Flatten(), L.Dense(6), L.Rescaling(0.5, 1.0)],
    ),
    "noise": (
        (6,),
        [
            L.GaussianNoise(0.3),
            L.GaussianDropout(0.2),
            L.AlphaDropout(0.1),
            L.ActivityRegularization(0.1),
        ],
    ),
}


def write_function(folder: Path, name: str) -> None:
    function, inputs, shapes = FUNCTIONS[name]
    answers = [np.asarray(one) for one in jax.tree.leaves(function(*map(jnp.asarray, inputs)))]
    converted = jax2tf.convert(function, polymorphic_shapes=shapes, with_gradient=False)
    specs = []
    for index, one in enumerate(inputs):
        shape = list(np.shape(one))
        text = None if shapes is None else shapes[index]
        for axis, word in enumerate((text or "").split(",")):
            if word.strip().isalpha():
                shape[axis] = None
        specs.append(tf.TensorSpec(shape, np.asarray(one).dtype, f"x{index}"))

    def serve(*xs: Any) -> Any:
        return {f"y{i}": y for i, y in enumerate(tf.nest.flatten(converted(*xs)))}

    module = tf.Module()
    module.serve = tf.function(serve, input_signature=specs, autograph=False)
    tf.saved_model.save(module, str(folder / "model"), signatures=module.serve)
    symbolic = export.symbolic_args_specs(inputs, shapes)
    exported = export.export(jax.jit(function))(*symbolic)
    (folder / "export.bin").write_bytes(exported.serialize())
    (folder / "module.mlirbc").write_bytes(exported.mlir_module_serialized)
    arrays = {f"in/x{i}": np.asarray(one) for i, one in enumerate(inputs)}
    np.savez_compressed(
        folder / "io.npz", **arrays, **{f"out/y{i}": y for i, y in enumerate(answers)}
    )


def write_layers(folder: Path, name: str) -> None:
    keras.utils.set_random_seed(7)
    shape, layers = LAYERS[name]
    model = keras.Sequential([keras.Input(shape, name="x"), *layers])
    for variable in model.variables:  # moving means of zero would hide half of a normalisation
        if variable.dtype == "float32":
            change = RNG.random(variable.shape).astype("float32") * 0.2
            variable.assign(np.asarray(variable) + change)
    x = draw(3, *shape)
    answer = np.asarray(model(x, training=False))
    model.export(str(folder / "model"), verbose=False)
    (given,) = model.inputs
    np.savez_compressed(folder / "io.npz", **{f"in/{given.name}": x, "out/output_0": answer})


def main(folder: Path, only: list[str]) -> None:
    for group, names, write in (
        ("jax", FUNCTIONS, write_function),
        ("keras", LAYERS, write_layers),
    ):
        for name in names:
            if only and f"{group}_{name}" not in only:
                continue
            place = folder / f"{group}_{name}"
            place.mkdir(parents=True, exist_ok=True)
            write(place, name)

            print(place.name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[3:])
