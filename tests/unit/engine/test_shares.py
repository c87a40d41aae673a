"""Slots go to the shapes that are used; rare shapes do not keep them forever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace.engine import shares as sharing
from pinnace.engine import tiers
from pinnace.engine.shares import Shares
from pinnace.framework import config

if TYPE_CHECKING:
    import pytest


class Place:
    def __init__(self) -> None:
        self.uses = 0


class Pool:
    """A plan's use of shares."""

    def __init__(self, places: int) -> None:
        self.held: dict[Any, Place | None] = {}
        self.shares: Shares[Place] = Shares(self.held, places)
        self.admitted = 0

    def ask(self, key: Any) -> bool:
        """Whether a key has a slot."""
        place = self.held.get(key)
        uses = 0 if place is not None else self.shares.admit(key)
        if uses:
            place = self.held[key] = Place()
            place.uses = uses
            self.admitted += 1
        if place is not None:
            place.uses += 1
        return place is not None


def test_a_shape_that_comes_late_and_stays_gets_the_place_of_an_odd_one() -> None:
    pool = Pool(8)
    for odd in range(8):
        for _ in range(4):
            pool.ask(odd)
    asked = next(count for count in range(1, 100) if pool.ask("real"))
    assert asked <= 16
    assert len(pool.held) == 8
    assert all(pool.ask("real") for _ in range(1000))


def test_shapes_that_were_hot_long_ago_give_way() -> None:
    pool = Pool(8)
    for old in range(8):
        for _ in range(100_000):
            pool.ask(old)
    asked = next(count for count in range(1, 100_000) if pool.ask("new"))
    assert asked < 3000


def test_more_equal_shapes_than_places_do_not_push_each_other_out_for_ever() -> None:
    pool = Pool(8)
    random = np.random.default_rng(0)
    keys = random.integers(0, 20, 20_000)
    for key in keys:
        pool.ask(int(key))
    # Preparing costs about as much as a hundred calls.
    assert pool.admitted < 200


def test_hot_shapes_keep_their_places_in_a_flood_of_others() -> None:
    pool = Pool(8)
    for number in range(50_000):
        pool.ask(("odd", number))
        pool.ask(("hot", number % 4))
    assert all(("hot", n) in pool.held for n in range(4))
    assert len(pool.shares._asked) <= sharing._MOST


@given(st.lists(st.integers(0, 30), max_size=400), st.integers(1, 4))
def test_there_are_never_more_places_than_there_are(keys: list[int], places: int) -> None:
    pool = Pool(places)
    for key in keys:
        pool.ask(key)
        assert len(pool.held) <= places


def test_a_plan_prepares_the_real_shape_after_many_odd_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config.settings, "tier", "auto")
    function = tf.function(
        lambda x: tf.tanh(x * 2.0) + tf.exp(x),
        input_signature=[tf.TensorSpec([None, 512], tf.float32)],
    )
    pool = function.get_concrete_function().plan.tiers
    for rows in range(40, 40 + tiers._SHAPES):
        for _ in range(4):
            function(tf.zeros([rows, 512]))
    assert len(pool._tier.prepared) == tiers._SHAPES
    for _ in range(20):
        function(tf.zeros([32, 512]))
    assert ((32, 512),) in pool._tier.prepared
    assert len(pool._tier.prepared) == tiers._SHAPES


def test_memory_for_many_shapes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "plan")
    monkeypatch.setattr(tiers, "_MOST_FIRST_BYTES", 1_000_000)
    function = tf.function(
        lambda x: tf.tanh(x * 2.0) + tf.exp(x),
        input_signature=[tf.TensorSpec([None, 512], tf.float32)],
    )
    for rows in range(64, 84):  # 131,072 bytes and more each
        for _ in range(4):
            function(tf.zeros([rows, 512]))
    pool = function.get_concrete_function().plan.tiers
    made = [one for one in pool._tier.prepared.values() if one is not None]
    assert len(made) == 20
    kept = sum(one.layout.bytes for one in made if one.spare)
    assert 500_000 < kept <= 1_000_000


def test_spare_memory_of_a_plan_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "plan")
    monkeypatch.setattr(tiers, "_MOST_SPARE_BYTES", 300_000)
    function = tf.function(lambda x: tf.tanh(x * 2.0) + tf.exp(x))
    x = tf.zeros([64, 512])  # 131,072 bytes
    for _ in range(4):
        function(x)
    pool = function.get_concrete_function(x).plan.tiers
    leased = [pool.lease([x.numpy()]) for _ in range(8)]
    for one in leased:
        assert isinstance(one, tiers.Workspace)
        pool.give_back(one)
    (prepared,) = pool._tier.prepared.values()
    assert prepared is not None
    assert prepared.layout.bytes >= 131_072
    assert (len(prepared.spare) - 1) * prepared.layout.bytes <= 300_000
