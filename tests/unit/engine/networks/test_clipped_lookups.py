"""Lookups with indices out of range in a network: the nearest row, or a constant instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.framework import config
from unit.engine.networks.test_region import arrays_of, networks_of

RANDOM = np.random.default_rng(5)
TABLE = RANDOM.standard_normal((7, 5)).astype(np.float32)
FIRST = RANDOM.standard_normal((5, 9)).astype(np.float32)
SECOND = RANDOM.standard_normal((9, 3)).astype(np.float32)
IDS = np.array([[0, 6, 7, -1], [3, -7, -8, 100], [5, 5, -100, 2]])
OTHERS = IDS[::-1].copy()


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


def clipped(ids: Any, low: int = 0, high: int = 6) -> Any:
    return tf.maximum(tf.minimum(ids, high), low)


def inside(ids: Any, low: int = 0, high: int = 6) -> Any:
    return tf.expand_dims((ids >= low) & (ids <= high), -1)


def wrapped(ids: Any) -> Any:
    return tf.where(ids < 0, ids + 7, ids)


def filled(table: Any, ids: Any, number: float = np.nan) -> Any:
    return tf.where(inside(ids), tf.gather(table, clipped(ids)), np.float32(number))


# The lookup, from a table, indices and other numbers; the kind of the network's row, if it is one.
FORMS: dict[str, tuple[Any, str]] = {
    "nearest": (lambda t, i, _: tf.gather(t, clipped(i)), "NEAREST"),
    "other way": (lambda t, i, _: tf.gather(t, tf.minimum(tf.maximum(i, 0), 6)), "NEAREST"),
    "wrapped": (lambda t, i, _: tf.gather(t, clipped(wrapped(i))), "NEAREST"),
    "columns": (lambda t, i, _: tf.gather(t, clipped(i[:, 1])), "NEAREST"),
    "NaN": (lambda t, i, _: filled(t, wrapped(i)), "FILLED"),
    "number": (lambda t, i, _: filled(t, i, -2.5), "FILLED"),
    "columns or NaN": (lambda t, i, _: filled(t, wrapped(i[:, 2])), "FILLED"),
    "below": (
        lambda t, i, _: tf.where(
            tf.reshape((i < 7) & (i >= 0), [3, 4, 1]), tf.gather(t, clipped(i)), np.float32(0)
        ),
        "FILLED",
    ),
    # Similar programs, which stay separate steps.
    "fewer rows": (
        lambda t, i, _: tf.where(inside(i, 0, 5), tf.gather(t, clipped(i)), np.float32(0)),
        "",
    ),
    "not the first": (
        lambda t, i, _: tf.where(inside(i, 1), tf.gather(t, clipped(i)), np.float32(0)),
        "",
    ),
    "others": (
        lambda t, i, j: tf.where(inside(j), tf.gather(t, clipped(i)), np.float32(0)),
        "",
    ),
    "the other way round": (
        lambda t, i, _: tf.where(inside(i), np.float32(0), tf.gather(t, clipped(i))),
        "",
    ),
    "what is not wrapped": (
        lambda t, i, _: tf.where(inside(i), tf.gather(t, clipped(wrapped(i))), np.float32(0)),
        "",
    ),
    "several numbers": (
        lambda t, i, _: tf.where(
            inside(i), tf.gather(t, clipped(i)), np.arange(5, dtype=np.float32)
        ),
        "",
    ),
    "clipped to fewer": (lambda t, i, _: tf.gather(t, clipped(i, 0, 5)), ""),
    "clipped from the second": (lambda t, i, _: tf.gather(t, clipped(i, 1)), ""),
}


def reference(name: str, ids: Any, others: Any) -> Any:
    """The same in NumPy."""

    def row(i: int, j: int) -> Any:
        around = i + 7 if i < 0 else i
        nearest = TABLE[min(max(i, 0), 6)]
        return {
            "wrapped": TABLE[min(max(around, 0), 6)],
            "NaN": TABLE[around] if 0 <= around < 7 else np.full(5, np.nan),
            "columns or NaN": TABLE[around] if 0 <= around < 7 else np.full(5, np.nan),
            "number": nearest if 0 <= i < 7 else np.full(5, -2.5),
            "below": nearest if 0 <= i < 7 else np.zeros(5),
            "fewer rows": nearest if 0 <= i < 6 else np.zeros(5),
            "not the first": nearest if 1 <= i < 7 else np.zeros(5),
            "others": nearest if 0 <= j < 7 else np.zeros(5),
            "the other way round": np.zeros(5) if 0 <= i < 7 else nearest,
            "what is not wrapped": TABLE[min(max(around, 0), 6)] if 0 <= i < 7 else np.zeros(5),
            "several numbers": nearest if 0 <= i < 7 else np.arange(5),
            "clipped to fewer": TABLE[min(max(i, 0), 5)],
            "clipped from the second": TABLE[min(max(i, 1), 6)],
        }.get(name, nearest)

    column = {"columns": 1, "columns or NaN": 2}.get(name)
    if column is not None:
        ids, others = ids[:, column], others[:, column]
    pairs = zip(ids.ravel(), others.ravel(), strict=True)
    rows = np.array([row(int(i), int(j)) for i, j in pairs], np.float32)
    return np.maximum(rows.reshape(*ids.shape, 5) @ FIRST, 0) @ SECOND


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("name", FORMS)
def test_what_is_out_of_range_is_as_numpy_has_it(name: str, kind: Any) -> None:
    look_up, outside = FORMS[name]
    table = tf.Variable(TABLE)

    @tf.function
    def function(both: Any) -> Any:
        rows = look_up(tf.convert_to_tensor(table), both[0], both[1])
        return tf.nn.relu(rows @ FIRST) @ SECOND

    both = np.stack([IDS, OTHERS]).astype(kind)
    wanted = reference(name, *both)
    for _ in range(3):
        found = function(tf.constant(both)).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    plan, arrays = arrays_of(function, both)
    (network,) = networks_of(plan, arrays)
    ways = [one.indices.outside for one in network.layers if one.indices is not None]
    assert outside in {*ways, ""}
    members = set(network.cluster.members)
    left = {step.node.op.name for at, step in enumerate(plan.steps) if at not in members}
    assert bool(outside) == (not left & {"SelectV2", "Minimum", "Maximum", "LogicalAnd"})
