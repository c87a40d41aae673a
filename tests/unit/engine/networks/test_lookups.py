"""Table lookups in a network: the plan's numbers, and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pinnace as tf
from pinnace.engine import agreement
from pinnace.framework import config
from unit.engine.networks.test_region import arrays_of, networks_of


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "tier", "compiled")


class Drawn:
    """Lookups by one integer tensor, concatenated, and two products of the results.

    Args:
        seed: selects the program.

    Attributes:
        function: from indices to results.
        ids: indices for it, all in range.
        rows: number of rows of the smallest table.
        variables: the tables that are variables.
    """

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.dtype = random.choice([np.int32, np.int64])
        self.rows = int(random.integers(2, 40))
        self._wraps = bool(random.random() < 0.5)
        batch, columns = (int(n) for n in random.integers(1, 7, 2))
        self._kind = str(random.choice(["whole", "columns", "backwards", "odd", "flat"]))
        low = -self.rows if self._wraps else 0
        self.ids = random.integers(low, self.rows, (batch, columns)).astype(self.dtype)
        self.variables: list[Any] = []
        self._tables = []
        for _ in range(int(random.integers(1, 4))):
            shape = (self.rows + int(random.integers(0, 3)), int(random.integers(1, 20)))
            table: Any = random.standard_normal(shape).astype(np.float32)
            how = str(random.choice(["constant", "read", "by handle"]))
            if how != "constant":
                table = tf.Variable(table)
                self.variables.append(table)
            self._tables.append((how, table))
        width = sum(table.shape[1] for _, table in self._tables)
        self._first = random.standard_normal((width, 9)).astype(np.float32)
        self._second = tf.Variable(random.standard_normal((9, 4)).astype(np.float32))
        self.function = tf.function(self._run)

    def _chosen(self, ids: Any, number: int) -> Any:
        if self._kind == "columns":
            return ids[:, number % ids.shape[1]]
        if self._kind == "backwards":
            return ids[::-1, ::-1]
        if self._kind == "odd":
            return ids[:, 1::2] if ids.shape[1] > 2 else ids[:, :1]
        return tf.reshape(ids, [-1]) if self._kind == "flat" else ids

    def _run(self, ids: Any) -> Any:
        found = []
        for number, (how, table) in enumerate(self._tables):
            chosen = self._chosen(ids, 0 if self._kind == "flat" else number)
            rows = table.shape[0]
            if self._wraps:
                chosen = tf.where(chosen < 0, chosen + rows, chosen)
            if how == "by handle":
                found.append(tf.raw_ops.ResourceGather(
                    resource=table.handle, indices=chosen, dtype=tf.float32
                ))  # fmt: skip
            else:
                found.append(tf.gather(tf.convert_to_tensor(table), chosen))
        x = tf.concat(found, -1) if len(found) > 1 else found[0]
        x = tf.reshape(x, [-1, x.shape[-1]])
        return tf.nn.relu(x @ self._first) @ self._second


@pytest.mark.parametrize("seed", range(60))
def test_drawn_lookups(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.settings, "poison", seed % 3 == 0)
    drawn = Drawn(seed)
    for _ in range(2):
        config.settings.tier = "plan"
        wanted = drawn.function(tf.constant(drawn.ids)).numpy()
        config.settings.tier = "compiled"
        found = drawn.function(tf.constant(drawn.ids)).numpy()
        assert agreement.difference([wanted], [found]) is None
        for variable in drawn.variables:  # an assignment is noticed
            variable.assign(variable * 0.5 + 1.0)


def test_most_drawn_lookups_are_one_table_without_steps() -> None:
    whole = 0
    for seed in range(40):
        drawn = Drawn(seed)
        plan, arrays = arrays_of(drawn.function, drawn.ids)
        layout = plan.tiers.layout_for(arrays, anyway=True)
        found = networks_of(plan, arrays)
        members = {place for one in found for place in one.cluster.members}
        left = [
            step.node.op.name
            for place, step in enumerate(plan.steps)
            if place not in members and not all(v in layout.settled for v in step.node.outputs)
        ]
        whole += len(found) == 1 and not left
    assert whole >= 36


@pytest.mark.parametrize("seed", range(24))
def test_what_is_out_of_range_is_refused_in_the_plans_words(seed: int) -> None:
    drawn = Drawn(100 + seed)
    limit = np.iinfo(drawn.dtype)
    random = np.random.default_rng(seed)
    worst = [drawn.rows + 5, -drawn.rows - 5, limit.max, limit.min, -1]
    ids = drawn.ids.copy()
    for _ in range(int(random.integers(1, 3))):
        place = tuple(int(random.integers(0, size)) for size in ids.shape)
        ids[place] = random.choice(worst)
    said = []
    for tier in ("plan", "compiled"):
        config.settings.tier = tier
        try:
            drawn.function(tf.constant(ids))
            said.append("")
        except tf.errors.InvalidArgumentError as error:
            said.append(str(error))
    assert said[0] == said[1]
    # Later calls work as if nothing had happened.
    found = drawn.function(tf.constant(drawn.ids)).numpy()
    config.settings.tier = "plan"
    assert agreement.difference([drawn.function(tf.constant(drawn.ids)).numpy()], [found]) is None


def test_refusals_name_the_index_the_limit_and_the_node() -> None:
    table = tf.Variable(np.ones((10, 4), np.float32))
    weights = np.ones((4, 4), np.float32)

    @tf.function
    def function(ids: Any) -> Any:
        return tf.gather(table, ids, name="looked_up") @ weights @ weights

    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        function(tf.constant([3, 10], tf.int32))
    message = str(raised.value)
    assert "indices[1] = 10 is not in [0, 10)" in message
    assert "looked_up" in message


def test_steps_that_others_want_stay() -> None:
    table = tf.Variable(np.random.default_rng(0).standard_normal((10, 4)).astype(np.float32))
    weights = np.ones((4, 4), np.float32)

    @tf.function
    def function(ids: Any) -> tuple[Any, Any]:
        known = tf.where(ids < 0, ids + 10, ids)
        return tf.gather(table, known) @ weights @ weights, known

    found = function(tf.constant([-1, 4], tf.int32))
    np.testing.assert_array_equal(found[1].numpy(), [9, 4])
    np.testing.assert_allclose(
        found[0].numpy(), tf.gather(table, [9, 4]).numpy() @ weights @ weights, rtol=1e-5
    )
