"""Rows: edges lead down, no node is lost, and long edges have a waypoint in every row."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pinnace.graph.rows import Rows, in_rows

Edges = list[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn, *, circles: bool) -> tuple[int, Edges]:
    count = draw(st.integers(1, 25))
    ends = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(ends, ends), max_size=60))
    if not circles:
        edges = [(min(a, b), max(a, b)) for a, b in edges]
    return count, edges


def places(rows: Rows) -> dict[int, int]:
    return {one: index for index, row in enumerate(rows.rows) for one in row}


@given(graphs(circles=True))
def test_every_box_stands_somewhere_once(drawn: tuple[int, Edges]) -> None:
    count, edges = drawn
    rows = in_rows(count, edges)
    found = [one for row in rows.rows for one in row]
    assert len(found) == len(set(found))
    assert {one for one in found if one < count} == set(range(count))
    assert all(rows.rows)


@given(graphs(circles=False))
def test_edges_lead_down(drawn: tuple[int, Edges]) -> None:
    count, edges = drawn
    row = places(in_rows(count, edges))
    assert all(row[a] < row[b] for a, b in edges if a != b)


@given(graphs(circles=True), st.data())
def test_a_route_passes_every_row_between(drawn: tuple[int, Edges], data: st.DataObject) -> None:
    count, edges = drawn
    some = st.lists(st.integers(0, count - 1), max_size=4)
    entering, leaving = data.draw(some), data.draw(some)
    rows = in_rows(count, edges, entering=entering, leaving=leaving)
    row = places(rows)
    paths = [[a, *rows.routes.get((a, b), ()), b] for a, b in edges if a != b]
    paths += [[*way, one] for one, way in rows.entries.items()]
    paths += [[one, *way] for one, way in rows.exits.items()]
    for path in paths:
        assert all(abs(row[a] - row[b]) == 1 for a, b in pairwise(path))
    for one, way in rows.entries.items():
        assert row[(*way, one)[0]] == 0
    assert rows.entries.keys() == set(entering)
    assert rows.exits.keys() == set(leaving)


def test_the_edges_of_one_source_share_their_places() -> None:
    rows = in_rows(5, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 3), (0, 4)])
    assert rows.routes[0, 4][: len(rows.routes[0, 3])] == rows.routes[0, 3]


def test_crossings_are_taken_out() -> None:
    # 0 -> 3, 1 -> 2: in numerical order these edges cross.
    rows = in_rows(4, [(0, 3), (1, 2)])
    upper, lower = rows.rows
    assert [{0: 3, 1: 2}[one] for one in upper] == lower


def test_what_leads_to_one_box_stands_near_it_unless_it_is_an_input() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (4, 3), (5, 3)]
    row = places(in_rows(6, edges, first=[5]))
    assert row[4] == row[3] - 1
    assert row[5] == 0


def test_a_chain_of_thousands_is_no_deep_recursion() -> None:
    count = 5_000
    rows = in_rows(count, [(one, one + 1) for one in range(count - 1)])
    assert [row[0] for row in rows.rows] == list(range(count))


def test_places_of_long_edges_are_limited() -> None:
    count = 600
    chain = [(one, one + 1) for one in range(count - 1)]
    rows = in_rows(count, [*chain, *((one, count - 1) for one in range(count))])
    assert sum(map(len, rows.rows)) <= 9 * count + 2_000
