"""Marks and the gate's comparison."""

import pytest

from verdicts import MET, MISSED, best_peer, mark, median_ratio, worsened


def test_best_peer_is_the_one_that_is_furthest_ahead() -> None:
    assert best_peer({"tensorflow": 0.4, "onnxruntime": 1.7, "jax": 0.9}) == ("onnxruntime", 1.7)


def test_best_peer_of_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="needs a peer"):
        best_peer({})


@pytest.mark.parametrize(
    ("ratio", "aim", "wanted"),
    [
        (0.99, None, MET),
        (1.0, None, MET),
        (1.01, None, MISSED),
        (0.5, 0.4, MISSED),
        (0.4, 0.4, MET),
        (1.2, 1.5, MET),
        (float("nan"), None, MISSED),
    ],
)
def test_mark_is_met_up_to_the_aim(ratio, aim, wanted) -> None:
    assert mark(ratio, aim) == wanted


def test_median_ratio_forms_each_round_first() -> None:
    # Both sides are ten times slower in the last round; the ratio of medians would be 1.
    assert median_ratio([2.0, 2.0, 20.0], [1.0, 1.0, 10.0]) == 2.0
    assert median_ratio([1.0, 9.0, 2.0], [1.0, 1.0, 1.0]) == 2.0


def test_median_ratio_refuses_rounds_without_a_partner() -> None:
    with pytest.raises(ValueError, match="zip"):
        median_ratio([1.0, 2.0], [1.0])


def test_worsened_names_what_is_beyond_its_margin() -> None:
    recorded = {"a": 1.0, "b": 0.1, "c": 2.0}
    assert worsened(recorded, {"a": 1.3, "b": 0.1301, "c": 0.1}) == ["b"]


def test_worsened_names_what_was_not_found() -> None:
    assert worsened({"a": 1.0, "b": 1.0}, {"a": 1.0}) == ["b"]


def test_worsened_leaves_out_what_was_not_recorded() -> None:
    assert worsened({"a": 1.0}, {"a": 1.0, "new": 50.0}) == []
