"""Abseil's assertions and temporary files: each passes and fails where it must."""

import dataclasses
import unittest
from pathlib import Path
from typing import Any

import pytest

import pinnace as tf
from pinnace.train import Example, Feature, Features, FloatList


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Case(tf.test.TestCase):
    def runTest(self) -> None:  # noqa: N802 (unittest's name)
        """Do nothing: the assertions are called from outside."""


@pytest.fixture
def case() -> Any:
    made = Case()
    made.setUp()
    yield made
    made.doCleanups()


HOLD_AND_FAIL: list[tuple[str, tuple[Any, ...], tuple[Any, ...], str]] = [
    ("assertEmpty", ([],), ([1],), "length 1, and must be empty"),
    ("assertEmpty", ("",), (iter(()),), "must have a length"),
    ("assertNotEmpty", ({"a": 1},), ((),), "is empty"),
    ("assertLen", ("abc", 3), ([1], 2), "has length 1, and must have 2"),
    ("assertLen", (range(4), 4), (3, 1), "must have a length, got int"),
    ("assertBetween", (2, 2, 3), (4, 2, 3), "4 is not between 2 and 3"),
    ("assertSequenceAlmostEqual", ([1.0], [1.0 + 1e-9]), ([1.0], [1.1]), "at 0"),
    ("assertSequenceAlmostEqual", ([], []), ([1.0], []), "lengths 1 and 0"),
    ("assertDictAlmostEqual", ({1: 2.0}, {1: 2.0}), ({1: 2.0}, {1: 3.0}), "of 1"),
    ("assertMappingEqual", ({1: 2}, {1: 2}), ({1: 2}, {1: 3}), "values of 1 differ"),
    ("assertDataclassEqual", (Point(1, 2), Point(1, 2)), (Point(1, 2), Point(1, 3)), "'y' differs"),
    ("assertItemsEqual", ([1, 2, 2], [2, 1, 2]), ([1, 2, 2], [1, 1, 2]), "Element counts"),
    ("assertSameElements", ([1, 2, 2], [2, 1]), ([1, 2], [1, 3]), r"missing \[2\]"),
    ("assertSameElements", ([[1]], [[1]]), ("ab", "ab"), "not a str"),
    ("assertContainsSubset", ([1], [1, 2]), ([1, 3], [1, 2]), r"\[3\] missing"),
    ("assertNoCommonElements", ([1], [2]), ([1, 2], [2, 3]), r"\[2\] are in both"),
    ("assertSequenceStartsWith", ([1, 2], [1, 2, 3]), ([2], [1, 2]), "does not begin"),
    ("assertSequenceStartsWith", (1, [1, 2]), ([1, 2], [1]), "does not begin"),
    (
        "assertContainsSubsequence",
        ([1, 2, 3], [1, 3]),
        ([1, 2, 3], [3, 1]),
        "1 is not in its",
    ),
    ("assertContainsExactSubsequence", ([1, 2, 3], [2, 3]), ([1, 2, 3], [1, 3]), "not a part"),
    ("assertContainsInOrder", (["a", "c"], "abc"), (["c", "a"], "abc"), "'a' is not in 'abc'"),
    ("assertContainsInOrder", ("bc", "abc"), (["a", "a"], "abc"), "after place 1"),
    ("assertTotallyOrdered", ([1, 1.0], [2], [3]), ([1], [1]), "1 must be less than 1"),
    ("assertTotallyOrdered", (["a"], ["b"]), ([1, 2],), "1 and 2 must be equal"),
    ("assertStartsWith", ("abc", "ab"), ("abc", "b"), "does not start with"),
    ("assertNotStartsWith", ("abc", "b"), ("abc", "a"), "starts with"),
    ("assertEndsWith", ("abc", "c"), ("abc", "b"), "does not end with"),
    ("assertNotEndsWith", ("abc", "b"), ("abc", "c"), "ends with"),
    ("assertRegexMatch", ("abc", ["x", "b+"]), ("abc", ["x", "y"]), "matches none of"),
    ("assertRegexMatch", (b"abc", [b"b"]), ("abc", []), "must hold a pattern"),
    ("assertUrlEqual", ("http://a/b?x=1&y=2", "http://a/b?y=2&x=1"), ("http://a", "http://b"), "b"),
    ("assertJsonEqual", ('{"a": [1, 2]}', '{ "a":[1,2] }'), ('{"a": 1}', "{}"), "first has"),
    ("assertJsonEqual", ("1", "1"), ("1", "{"), "is not JSON"),
    ("assertSameStructure", ([1, {2: 3}], (1, {2: 3})), ([1, {2: 3}], [1, {2: 4}]), r"a\[1\]\[2\]"),
    ("assertIsSubclass", (bool, int), (int, bool), "is not a subclass"),
    ("assertNotIsSubclass", (int, bool), (bool, int), "is a subclass"),
    ("assertNDArrayNear", ([3.0, 4.0], [3.0, 4.1], 0.2), ([3.0], [4.0], 1.0), "1.0 apart"),
]


@pytest.mark.parametrize(("name", "hold", "fail", "says"), HOLD_AND_FAIL)
def test_an_assertion_holds_and_fails(
    case: Any, name: str, hold: tuple[Any, ...], fail: tuple[Any, ...], says: str
) -> None:
    getattr(case, name)(*hold)
    with pytest.raises(AssertionError, match=says):
        getattr(case, name)(*fail)


def test_a_message_of_its_own_comes_first(case: Any) -> None:
    with pytest.raises(AssertionError, match=r"^mine: "):
        case.assertLen([], 1, "mine")


def test_the_text_of_an_error_counts_in_full(case: Any) -> None:
    with case.assertRaisesWithLiteralMatch(ValueError, "all of it"):
        raise ValueError("all of it")
    case.assertRaisesWithLiteralMatch(KeyError, "'a'", {}.__getitem__, "a")
    with (
        pytest.raises(AssertionError, match="got 'all of it, and more'"),
        case.assertRaisesWithLiteralMatch(ValueError, "all of it"),
    ):
        raise ValueError("all of it, and more")


def example(*numbers: float) -> Any:
    return Example(features=Features(feature={"x": Feature(float_list=FloatList(value=numbers))}))


def test_messages_are_compared_as_text_as_messages_and_with_a_tolerance(case: Any) -> None:
    text = "features { feature { key: 'x' value { float_list { value: 1.5 } } } }"
    case.assertProtoEquals(text, example(1.5))
    case.assertProtoEquals(example(1.5), example(1.5))
    case.assertProtoEquals(example(1.5), example(1.5001), relative_tolerance=1e-3)
    for wanted, options in ((example(1.0), {}), (example(1.6), {"relative_tolerance": 1e-3})):
        with pytest.raises(AssertionError, match=r"1\.5"):
            case.assertProtoEquals(wanted, example(1.5), **options)
    with pytest.raises(AssertionError, match="Feature and Example"):
        case.assertProtoEquals(Feature(), example(1.5))


def test_temporary_files_are_removed_when_they_are_to_be() -> None:
    made: dict[str, str] = {}

    class Files(tf.test.TestCase):
        def test_passes(self) -> None:
            folder = self.create_tempdir("inner")
            file = folder.create_file("a/b.txt", content="text")
            assert Path(file).read_text() == "text"
            assert Path(folder).name == "inner"
            assert list(Path(folder.mkdir()).iterdir()) == []
            loose = self.create_tempfile(content=b"\x00\x01")
            assert loose.read_bytes() == b"\x00\x01"
            loose.write_text("abc")
            with loose.open_text() as opened:
                assert opened.read() == "abc"
            with loose.open_bytes() as opened:
                assert opened.read() == b"abc"
            made["always"] = folder.full_path
            off = self.create_tempdir(cleanup=type(self.tempfile_cleanup).OFF)
            made["off"] = off.full_path
            made["good"] = self.create_tempdir(
                cleanup=type(self.tempfile_cleanup).SUCCESS
            ).full_path

        def test_fails(self) -> None:
            success = type(self.tempfile_cleanup).SUCCESS
            made["bad"] = self.create_tempdir(cleanup=success).full_path
            made["bad always"] = self.create_tempdir().full_path
            self.fail("on purpose")

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Files).run(result)
    assert (len(result.failures), result.errors, result.testsRun) == (1, [], 2)
    left = {name for name, path in made.items() if Path(path).exists()}
    for name in left:
        Path(made[name]).rmdir()
    assert left == {"off", "bad"}
