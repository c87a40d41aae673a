"""Each kernel for forests with simple conditions gives the same bits as row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pinnace.engine.codegen import kernels as machine
from pinnace.ops.kernels import compiled
from pinnace.ops.trees import leaf_words, steps
from pinnace.ops.trees.forest import Forest
from pinnace.ops.trees.nodes import (
    CONTAINS,
    HIGHER,
    LEAF,
    MISSING,
    MISSING_CATEGORY,
    Features,
    Nodes,
)

COLUMNS = 5
# Numbers of categories of columns: fewer than the bits of a word, as many, and several words.
CUTS = [1, 5, 31, 32, 33, 100]


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    return {name: machine.function(name) for name in ("forest", "forest words", "forest steps")}


@pytest.fixture(autouse=True)
def compiled_kernels(kernels: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "made", kernels.__getitem__)


def grow(
    random: np.random.Generator,
    rows: list[list[Any]],
    leaves: int,
    share: float,
    of_categories: float,
) -> None:
    """A tree with this many leaves, this fraction of them in the negative child, in preorder."""
    if leaves == 1:
        rows.append([LEAF, 0, 0.0, False, len(rows), 0])
        return
    at = len(rows)
    missing = random.random() < 0.5
    if random.random() < of_categories:
        kind = MISSING_CATEGORY if random.random() < 0.1 else CONTAINS
        column = int(random.integers(len(CUTS)))
        # Distinct bits among 10,000 random ones.
        rows.append([kind, column, 0.0, missing, 0, int(random.integers(9000))])
    else:
        kind = MISSING if random.random() < 0.1 else HIGHER
        threshold = random.choice([-np.inf, -1.5, -0.0, 0.0, 0.5, 1.0, np.inf, np.nan, 1e-3])
        rows.append([kind, int(random.integers(COLUMNS)), threshold, missing, 0, 0])
    negative = min(leaves - 1, max(1, round(leaves * share)))
    grow(random, rows, negative, share, of_categories)
    rows[at][4] = len(rows)
    grow(random, rows, leaves - negative, share, of_categories)


def forest_of(
    sizes: list[int],
    share: float = 0.5,
    outputs: int = 1,
    stride: int = 1,
    seed: int = 0,
    of_categories: float = 0.0,
) -> Forest:
    random = np.random.default_rng(seed)
    rows: list[list[Any]] = []
    roots = []
    for size in sizes:
        roots.append(len(rows))
        grow(random, rows, size, share, of_categories)
    kind, column, threshold, missing, positive, start = (
        zip(*rows, strict=True) if rows else [()] * 6
    )
    none, count = np.zeros(0, np.float32), len(rows)
    nodes = Nodes(
        np.array(kind, np.uint8),
        np.array(column, np.int32),
        np.array(threshold, np.float32),
        np.array(missing, bool),
        np.array(positive, np.int32),
        np.array(start, np.int32),
        np.zeros(count, np.int32),
        random.integers(0, 256, 1250, np.uint8),
        np.zeros(0, np.int32),
        none,
        none,
    )
    is_leaf = nodes.kind == LEAF
    values = random.standard_normal((int(is_leaf.sum()), outputs)).astype(np.float32)
    sums = max(outputs, stride)
    return Forest(
        nodes=nodes,
        roots=np.array(roots, np.int32),
        depth=max(sizes, default=0),
        slots=np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32),
        values=values,
        stride=stride,
        start=random.standard_normal(sums),
        link="none",
        denominator=0.0,
        labels=(b"",) * sums,
        cuts=np.array(CUTS, np.int64),
        set_cuts=np.zeros(0, np.int64),
    )


def numbers(rows: int, seed: int = 1) -> np.ndarray:
    """Numbers, many at a threshold; some missing, infinite or negative zeros."""
    random = np.random.default_rng(seed)
    x = random.choice([-2.0, -1.5, -0.0, 0.0, 0.5, 1.0, 3.0], (rows, COLUMNS)).astype(np.float32)
    for value in (np.nan, np.inf, -np.inf):
        x[random.random(x.shape) < 0.1] = value
    return x


def categories(rows: int, seed: int = 2) -> np.ndarray:
    """Categories, some missing, others out of range."""
    random = np.random.default_rng(seed)
    found = np.stack([random.integers(0, cut, rows) for cut in CUTS], axis=1)
    for value in (-1, -7, 31, 32, 1000, -(2**31), 2**31 - 1):
        found[random.random(found.shape) < 0.05] = value
    return found.astype(np.int32)


def expected(forest: Forest, x: np.ndarray) -> np.ndarray:
    """The sums over trees in order: each tree splits the rows at each node."""
    nodes = forest.nodes
    sums = np.tile(forest.start, (len(x), 1))
    of_category = categories(len(x))
    bits = np.unpackbits(nodes.bits, bitorder="little").astype(bool)

    def visit(tree: int, at: int, rows: np.ndarray) -> None:
        if nodes.kind[at] == LEAF:
            value = forest.values[forest.slots[at]].astype(np.float64)
            if forest.stride > 1:
                sums[rows, tree % forest.stride] += value[0]
            else:
                sums[rows] += value
            return
        column, missing = nodes.column[at], nodes.missing[at]
        if nodes.kind[at] in {HIGHER, MISSING}:
            number = x[rows, column]
            up = np.isnan(number) & missing
            if nodes.kind[at] == HIGHER:
                up |= number >= nodes.threshold[at]
        else:
            category = of_category[rows, column]
            up = (category == -1) & missing
            if nodes.kind[at] == CONTAINS:
                known = np.where((category < 0) | (category >= CUTS[column]), 0, category)
                up |= (category != -1) & bits[nodes.start[at] + known]
        visit(tree, at + 1, rows[~up])
        visit(tree, int(nodes.positive[at]), rows[up])

    for tree, root in enumerate(forest.roots.tolist()):
        visit(tree, root, np.arange(len(x)))
    return sums.astype(np.float32)


def predicted(forest: Forest, x: np.ndarray) -> np.ndarray:
    nothing = np.zeros(0, np.int32), np.zeros(1, np.int64)
    features = Features(x, categories(len(x)), *nothing, 0)
    return np.asarray(forest.predict(features, len(x)))


def check(forest: Forest, x: np.ndarray, wanted: np.ndarray | None = None) -> None:
    wanted = expected(forest, x) if wanted is None else wanted
    np.testing.assert_array_equal(predicted(forest, x), wanted)
    forest.__dict__["_words"] = None  # by walking the trees
    np.testing.assert_array_equal(predicted(forest, x), wanted)
    forest.__dict__["_steps"] = None  # by the kernel for any forest
    np.testing.assert_array_equal(predicted(forest, x), wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "made", lambda _: None)  # by NumPy, which may sum in another order
        np.testing.assert_allclose(predicted(forest, x), wanted, rtol=1e-6, atol=1e-6)
    del forest.__dict__["_words"], forest.__dict__["_steps"]


ROWS = [0, 1, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 127, 129, 1000]


@pytest.mark.parametrize("rows", ROWS)
def test_any_number_of_rows(rows: int) -> None:
    check(forest_of([20, 1, 2, 32, 33, 64, 65, 7, 100], seed=rows), numbers(rows))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("leaves", [1, 2, 31, 32, 33, 63, 64, 65, 96, 97, 200])
def test_any_number_of_leaves_on_either_side(leaves: int, share: float) -> None:
    for trees in (1, 3, 65):
        forest = forest_of([leaves] * trees, share, seed=leaves)
        x = numbers(70)
        wanted = expected(forest, x)
        for rows in (3, 70):
            check(forest, x[:rows], wanted[:rows])


@pytest.mark.parametrize(("outputs", "stride"), [(3, 1), (1, 3), (1, 2), (40, 1)])
@pytest.mark.parametrize("rows", [1, 5, 8, 100])
def test_several_sums(outputs: int, stride: int, rows: int) -> None:
    sizes = [4, 40, 32, 1, 65, 9] * 12
    check(forest_of(sizes, 0.4, outputs, stride), numbers(rows))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("of_categories", [0.3, 1.0])
def test_categories_too(rows: int, of_categories: float) -> None:
    forest = forest_of([20, 1, 2, 33, 64, 7], 0.4, seed=rows, of_categories=of_categories)
    assert forest._words is not None
    check(forest, numbers(rows))


def test_categories_and_several_sums() -> None:
    check(forest_of([30, 50] * 9, 0.6, outputs=3, of_categories=0.5), numbers(100))
    check(forest_of([30, 50] * 9, 0.6, stride=3, of_categories=0.5), numbers(100))


def test_many_categories_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaf_words, "_MOST_BITS", 1000)
    forest = forest_of([60] * 5, of_categories=0.5)
    assert forest._words is None
    assert forest._steps is not None
    check(forest, numbers(50))
    monkeypatch.setattr(steps, "_MOST_BITS", 1000)
    forest = forest_of([60] * 5, of_categories=0.5)
    assert forest._steps is None
    check(forest, numbers(50))


@pytest.mark.parametrize("rows", [1, 7, 8, 65])
@pytest.mark.parametrize(("outputs", "stride"), [(1, 1), (3, 1), (1, 3)])
def test_large_trees_on_categories(rows: int, outputs: int, stride: int) -> None:
    forest = forest_of([900, 5, 300] * 3, 0.5, outputs, stride, of_categories=0.4)
    assert forest._words is None
    check(forest, numbers(rows))


def test_no_trees_give_what_sums_begin_with() -> None:
    for rows in (1, 100):
        check(forest_of([]), numbers(rows))


def test_trees_with_many_leaves_are_descended() -> None:
    many, few = forest_of([700] * 3), forest_of([30] * 3)
    assert many._words is None
    assert few._words is not None
    check(many, numbers(300))


@pytest.mark.parametrize("sizes", [[12, 30, 64] * 4, [700] * 3])
def test_threads_share_rows(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaf_words, "_SHARED", 1)
    monkeypatch.setattr(steps, "_SHARED", 1)
    for rows in (8, 65, 10_001):
        forest = forest_of(sizes)
        np.testing.assert_array_equal(
            predicted(forest, numbers(rows)), expected(forest, numbers(rows))
        )


def test_columns_that_no_tree_asks_for() -> None:
    check(forest_of([1, 1, 1]), numbers(10))
    forest = forest_of([1, 2])
    wide = np.concatenate([numbers(40), numbers(40, 2)], axis=1)
    np.testing.assert_array_equal(predicted(forest, wide), expected(forest, wide))
    # Other memory layouts, as of a transpose or a slice.
    turned = np.asfortranarray(wide)
    np.testing.assert_array_equal(predicted(forest, turned), expected(forest, wide))
    np.testing.assert_array_equal(predicted(forest, wide[::2]), expected(forest, wide[::2]))
