"""The table of models of other producers: verdicts of ratios, and omitted rows."""

import json
from pathlib import Path

import pytest

from harness import OURS, TENSORFLOW
from producers import store, table
from producers.paired import Loads, Row, reachable_sides
from producers.run import choose
from producers.workloads import (
    FORESTS,
    KERAS,
    NETWORKS,
    ONNXRUNTIME,
    OTHER_BACKEND,
    SHORT,
    WORDS,
    YDF,
    Workload,
    every,
)
from zoo.store import catalogue

SURROUNDINGS = {
    "date": "2026-01-01",
    "processor": "a processor",
    "cores": 2,
    "threads": 2,
    "load": 0.1,
    "versions": {"pinnace": "Python 3.11"},
}


def rows() -> list[Row]:
    """One row of each kind: the first meets its aims, a peer of the second is faster."""
    keras, forest, words = (
        next(work for work in every() if work.kind == kind) for kind in (KERAS, FORESTS, WORDS)
    )
    return [
        Row(keras, {OURS: [1.0, 2.0], OTHER_BACKEND: [1.0, 2.0], TENSORFLOW: [2.0, 4.0]}),
        Row(forest, {OURS: [3.0, 3.0], YDF: [2.0, 2.0], ONNXRUNTIME: [6.0, 6.0]}),
        Row(words, {OURS: [0.32], TENSORFLOW: [3.2]}, failures={ONNXRUNTIME: "no such op"}),
    ]


def test_names_are_unique_and_the_short_form_has_every_kind() -> None:
    names = [work.name for work in every()]
    assert len(set(names)) == len(names)
    assert {work.name for work in choose(None, short=True)} == set(SHORT)
    assert {work.kind for work in choose(None, short=True)} == {KERAS, FORESTS, WORDS}
    assert choose([FORESTS]) == [work for work in every() if work.kind == FORESTS]


def test_ten_networks_that_the_zoo_has() -> None:
    assert len(NETWORKS) == 10
    assert catalogue().keys() >= set(NETWORKS)


def test_cells_tell_times_ratios_and_missed_aims() -> None:
    first, second, third = rows()
    assert table.cells(first)[1:] == ["1.5 s", "1.5 s, 1.00× (≤ 1.1)", "3 s, 0.50× (≤ 0.9)", "✓"]
    assert table.cells(second)[2:] == ["2 s, 1.50× (≤ 1) ✗", "6 s, 0.50× (≤ 1)", "–", "✗"]
    # A call of 32 words; a failing peer does not count as a met aim.
    assert table.cells(third)[1:] == ["10 ms", "100 ms, 0.10× (≤ 0.5)", "fails", "✓"]


def test_the_table_counts_what_misses_and_tells_what_failed(tmp_path: Path) -> None:
    loads = Loads({(OURS, "model"): [1.5]}, {(OURS, "model"): [2.0]})
    table.write_markdown(tmp_path / "PRODUCERS.md", rows(), loads, SURROUNDINGS)
    text = (tmp_path / "PRODUCERS.md").read_text()
    assert "| ydf | ≤ 1 | 1 of 1 miss, median 1.50, worst 1.50 | ✗ |" in text
    assert "loaded in 1.5 s, first answer after 2 s (aim: loaded in 1 s) ✗" in text
    assert "onnxruntime: no such op" in text
    record = json.loads((tmp_path / "PRODUCERS.json").read_text())
    assert record["results"][1]["ratios"][YDF] == 1.5
    assert record["loads"][0]["load_s"] == [1.5]


def test_without_interpreters_the_peers_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(store.TENSORFLOW_PYTHON, raising=False)
    forest = Workload(FORESTS, "boosted_100", 1, 1, {YDF: 1.0, ONNXRUNTIME: 1.0}, (TENSORFLOW,))
    assert reachable_sides(forest) == [OURS, ONNXRUNTIME]


def test_a_model_that_nobody_can_write_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(store, "CACHE", tmp_path)
    monkeypatch.delenv(store.PACKAGES[FORESTS], raising=False)
    with pytest.raises(RuntimeError, match="boosted_100 must be written first"):
        store.prepare(FORESTS, ["boosted_100"])
