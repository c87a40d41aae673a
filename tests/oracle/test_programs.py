"""Ops with state or branches against TensorFlow: programs that both sides run."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import comparing, ours
from oracle.drawing import ASKED, drawn
from pinnace.proto.example_pb2 import Example, SequenceExample

if TYPE_CHECKING:
    from oracle.coverage import Coverage
    from oracle.peer import Peer

EXAMPLES = ASKED or 20
# Permitted error of another order of steps, in units of epsilon; no program here has more than ten.
UNITS = 64
# Integers that may differ, and by how much: one of TensorFlow's two kernels rounds a difference,
# the other subtracts rounded numbers; the processor decides which one it uses.
OFF = {"quantities.from_the_first": 1}


def matrices(draw: st.DrawFn, *dtypes: Any) -> tuple[Any, Any]:
    """Two matrices of one shape, at least two rows."""
    shape = (draw(st.integers(2, 4)), draw(st.integers(1, 3)))
    dtype = draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    # No zeros: programs divide.
    x, y = (
        rng.integers(1, 33, shape)
        * rng.choice([-1, 1], shape)
        / (8 if dtype().dtype.kind == "f" else 1)
        for _ in range(2)
    )
    return x.astype(dtype), y.astype(dtype)


@st.composite
def pairs(draw: st.DrawFn) -> list[Any]:
    return list(matrices(draw, np.float32, np.float64))


@st.composite
def pairs_with_rows(draw: st.DrawFn) -> list[Any]:
    """Two matrices and some of their rows, without duplicates."""
    x, y = matrices(draw, np.float32, np.float64)
    rows = draw(st.lists(st.integers(0, len(x) - 1), unique=True, min_size=1))
    return [x, y, np.array(rows, draw(st.sampled_from([np.int32, np.int64])))]


@st.composite
def with_rows(draw: st.DrawFn) -> list[Any]:
    """Two matrices and some of their rows, without duplicates."""
    x, y = matrices(draw, np.float32, np.float64, np.int32, np.int64)
    rows = draw(st.lists(st.integers(0, len(x) - 1), unique=True, min_size=1))
    return [x, y, np.array(rows, draw(st.sampled_from([np.int32, np.int64])))]


@st.composite
def listed(draw: st.DrawFn) -> list[Any]:
    x, _ = matrices(draw, np.float32, np.float64, np.int64)
    rows = draw(st.lists(st.integers(0, len(x) - 1), max_size=4))
    return [x, np.array(rows, np.int32)]


@st.composite
def entries(draw: st.DrawFn) -> list[Any]:
    """Distinct keys, their values, and keys to look up."""
    keys = draw(st.lists(st.integers(-50, 50), min_size=3, max_size=6, unique=True))
    values = draw(st.lists(st.integers(-99, 99), min_size=len(keys), max_size=len(keys)))
    queries = draw(st.lists(st.sampled_from([*keys, 77]), min_size=1, max_size=5))
    dtype = draw(st.sampled_from([np.int64, np.float32]))
    return [np.array(keys, np.int64), np.array(values, dtype), np.array(queries, np.int64)]


@st.composite
def rows_of_values(draw: st.DrawFn) -> list[Any]:
    """Values and row splits."""
    values = draw(st.lists(st.integers(-9, 9), max_size=6))
    ends = st.lists(st.integers(0, len(values)), min_size=1, max_size=4)
    dtype = draw(st.sampled_from([np.float32, np.int64]))
    return [np.array(values, dtype), np.array([0, *sorted(draw(ends)), len(values)], np.int64)]


@st.composite
def logits_and_seed(draw: st.DrawFn) -> list[Any]:
    x, _ = matrices(draw, np.float32)
    seeds = [draw(st.integers(1, 2**31)) for _ in range(2)]
    return [x, np.array(seeds, np.int64)]


@st.composite
def examples(draw: st.DrawFn) -> list[Any]:
    """Serialised examples, some of them without the features that have a default."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        example = Example()
        features = example.features.feature
        features["numbers"].float_list.value.extend([draw(st.integers(-9, 9)) / 4 for _ in "ab"])
        if draw(st.booleans()):
            features["count"].int64_list.value.append(draw(st.integers(-(2**62), 2**62)))
        if draw(st.booleans()):
            features["word"].bytes_list.value.append(draw(st.binary(max_size=5)))
        found.append(example.SerializeToString())
    return [np.array(found, object)]


@st.composite
def sequences(draw: st.DrawFn) -> list[Any]:
    """Serialised sequence examples, some of them without some features."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        example = SequenceExample()
        if draw(st.booleans()):
            count = draw(st.integers(-(2**62), 2**62))
            example.context.feature["count"].int64_list.value.append(count)
        for word in draw(st.lists(st.binary(max_size=3), max_size=2)):
            example.context.feature["word"].bytes_list.value.append(word)
        lists = example.feature_lists.feature_list
        for _ in range(draw(st.integers(0, 3))):
            numbers = [draw(st.integers(-9, 9)) / 4 for _ in "ab"]
            lists["numbers"].feature.add().float_list.value.extend(numbers)
        if "numbers" not in lists:
            lists["numbers"].SetInParent()
        for row in draw(st.lists(st.lists(st.integers(-9, 9), max_size=2), max_size=3)):
            lists["places"].feature.add().int64_list.value.extend(row)
        found.append(example.SerializeToString())
    return [np.array(found, object)]


@st.composite
def crossable(draw: st.DrawFn) -> list[Any]:
    """Rows of words, of sparse numbers, and of a matrix of numbers."""
    rows = draw(st.integers(1, 3))
    words = draw(st.lists(st.binary(max_size=3), max_size=4))
    inner = st.lists(st.integers(0, len(words)), min_size=rows - 1, max_size=rows - 1)
    places = sorted(draw(st.sets(st.integers(0, rows * 2 - 1))))
    indices = np.stack(np.unravel_index(np.array(places, np.int64), (rows, 2)), -1)
    dense = [[draw(st.integers(-9, 9)) for _ in "ab"] for _ in range(rows)]
    return [
        np.array(words, object),
        np.array([0, *sorted(draw(inner)), len(words)], np.int64),
        indices.astype(np.int64),
        np.array([draw(st.integers(-(2**62), 2**62)) for _ in places], np.int64),
        np.array([rows, 2], np.int64),
        np.array(dense, np.int64),
    ]


@st.composite
def singles(draw: st.DrawFn) -> list[Any]:
    return [matrices(draw, np.float32)[0]]


PROGRAMS = {
    **{f"variables.{name}": pairs() for name in ("assigned", "sliced", "trained")},
    **{f"variables.{name}": with_rows() for name in ("gathered", "scattered")},
    **{f"lists.{name}": listed() for name in ("of_rows", "scattered")},
    **{f"tables.{n}": entries() for n in ("fixed", "mutable", "of_rows", "dense", "from_file")},
    **{
        f"flow.{name}": pairs()
        for name in (
            *("conditions", "conditions_with_effects", "loops"),
            *("calls", "checks", "refused", "python"),
        )
    },
    **{
        f"draws.{name}": logits_and_seed()
        for name in ("seeded", "stateful", "distributions", "sampled")
    },
    "denormals.traced": singles(),
    "denormals.trained": singles(),
    "steps.dense": pairs(),
    "steps.sparse": pairs_with_rows(),
    "quantities.quantized": singles(),
    "quantities.from_the_first": singles(),
    "pictures.without_loss": pairs(),
    "pictures.with_loss": pairs(),
    "raggeds.variants": rows_of_values(),
    "saved.printed": pairs(),
    "saved.events": pairs(),
    "streams.iterated": pairs(),
    "texts.crossed": crossable(),
    "records.parsed": examples(),
    "records.sequences": sequences(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_in_tensorflow(
    name: str, peer: Peer, coverage: Coverage
) -> None:
    module, function = name.split(".")
    program = getattr(importlib.import_module(f"oracle.programs.{module}"), function)

    @drawn(EXAMPLES)
    @given(inputs=PROGRAMS[name])
    def compare(inputs: list[Any]) -> None:
        peer.send([{"program": [module, function], "inputs": inputs}])
        here = ours.attempt(ours.run_program, program, inputs)
        (theirs,) = peer.receive()
        if comparing.failed(theirs) and comparing.failed(here):
            assert not comparing.errors_differ(theirs, here)
            return
        assert not comparing.failed(theirs), theirs
        assert not comparing.failed(here), here
        values, used = here
        assert len(values) == len(theirs["values"])
        for index, (a, b) in enumerate(zip(theirs["values"], values, strict=True)):
            if name in OFF and a.dtype.kind == "i" and a.shape == b.shape:
                b = np.where(np.abs(a - b) <= OFF[name], a, b)
            problem = comparing.array_differs(
                a, b, UNITS, UNITS, near=coverage.closest.of(name, f"output {index}")
            )
            assert not problem, f"output {index}: {problem}"
        coverage.values.update(used)

    compare()
