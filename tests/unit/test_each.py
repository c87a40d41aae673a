"""One test for a rule with many cases: the failure names each case that breaks it."""

import pytest

from support.each import holds_for_each


def is_even(number: int) -> None:
    assert number % 2 == 0, f"{number} is odd"


def test_all_that_break_a_rule_are_named() -> None:
    holds_for_each(range(0, 10, 2), is_even)
    with pytest.raises(AssertionError) as caught:
        holds_for_each([2, 3, 4, 5], is_even, lambda number: f"number {number}")
    assert str(caught.value).startswith("2 of 4 break the rule:")
    assert "number 3: AssertionError: 3 is odd" in str(caught.value)
    assert "number 5: AssertionError: 5 is odd" in str(caught.value)
    assert "number 4" not in str(caught.value)


def test_of_many_the_rest_are_named_alone() -> None:
    with pytest.raises(AssertionError, match=r"and 10 more: 41, 43, .*, 57, 59"):
        holds_for_each(range(1, 60, 2), is_even)


def test_what_ends_in_another_error_breaks_it_too() -> None:
    with pytest.raises(AssertionError, match="0: ZeroDivisionError"):
        holds_for_each([1, 0], lambda number: 1 / number)


def test_a_rule_of_nothing_is_none() -> None:
    with pytest.raises(AssertionError, match="there is no case"):
        holds_for_each([], is_even)
