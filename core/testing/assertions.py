"""Assertions about containers, texts and structures, under the names of Abseil's test cases."""

# ruff: noqa: N802, PT009, PT027 (the names and assertions of unittest)

from __future__ import annotations

import collections.abc
import dataclasses
import itertools
import json
import re
import unittest
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlparse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized

_NOTHING = object()


class Assertions(unittest.TestCase):
    """The assertions of `absl.testing.absltest.TestCase` that `unittest.TestCase` lacks."""

    def _refuse(self, message: object, problem: str) -> None:
        self.fail(problem if message is None else f"{message}: {problem}")

    def _sized(self, container: Any, msg: object) -> None:
        if not isinstance(container, collections.abc.Sized):
            self._refuse(msg, f"must have a length, got {type(container).__name__}: {container!r}")

    def assertEmpty(self, container: Sized, msg: object = None) -> None:
        """Assert that the length is 0."""
        self._sized(container, msg)
        if len(container):
            self._refuse(msg, f"{container!r} has length {len(container)}, and must be empty")

    def assertNotEmpty(self, container: Sized, msg: object = None) -> None:
        """Assert that the length is not 0."""
        self._sized(container, msg)
        if not len(container):
            self._refuse(msg, f"{container!r} is empty")

    def assertLen(self, container: Sized, expected_len: int, msg: object = None) -> None:
        """Assert that the length is `expected_len`."""
        self._sized(container, msg)
        if len(container) != expected_len:
            self._refuse(
                msg, f"{container!r} has length {len(container)}, and must have {expected_len}"
            )

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: object = None) -> None:
        """Assert that minv <= value <= maxv."""
        if not minv <= value <= maxv:
            self._refuse(msg, f"{value!r} is not between {minv!r} and {maxv!r}")

    def assertSequenceAlmostEqual(
        self,
        expected_seq: Sequence[float],
        actual_seq: Sequence[float],
        places: int | None = None,
        msg: object = None,
        delta: float | None = None,
    ) -> None:
        """Assert that two sequences have one length and elements equal by `assertAlmostEqual`."""
        if len(expected_seq) != len(actual_seq):
            self._refuse(msg, f"lengths {len(expected_seq)} and {len(actual_seq)} differ")
        almost: Any = self.assertAlmostEqual  # it takes places or delta, says its type
        for index, (a, b) in enumerate(zip(expected_seq, actual_seq, strict=True)):
            almost(a, b, places=places, msg=msg or f"at {index}", delta=delta)

    def assertDictAlmostEqual(
        self,
        a: Mapping[Any, float],
        b: Mapping[Any, float],
        places: int | None = None,
        msg: object = None,
        delta: float | None = None,
    ) -> None:
        """Assert that two mappings have the same keys and values equal by `assertAlmostEqual`."""
        self.assertSameElements(a, b, msg)
        almost: Any = self.assertAlmostEqual  # it takes places or delta, says its type
        for key, value in a.items():
            almost(value, b[key], places=places, msg=msg or f"of {key!r}", delta=delta)

    def assertMappingEqual(
        self,
        a: Any,
        b: Any,
        msg: object = None,
        mapping_type: type = collections.abc.Mapping,
        check_values_equality: Callable[[Any, Any], bool] = lambda a, b: a == b,
    ) -> None:
        """Assert that two mappings have the same keys and that a predicate holds for the values."""
        self.assertIsInstance(a, mapping_type, msg)
        self.assertIsInstance(b, mapping_type, msg)
        self.assertSameElements(a, b, msg)
        for key, value in a.items():
            if not check_values_equality(value, b[key]):
                self._refuse(msg, f"values of {key!r} differ: {value!r} and {b[key]!r}")

    def assertDataclassEqual(self, first: Any, second: Any, msg: object = None) -> None:
        """Assert that two instances of one dataclass have equal fields."""
        if not dataclasses.is_dataclass(first) or isinstance(first, type):
            self._refuse(msg, f"must be an instance of a dataclass, got {first!r}")
        if type(first) is not type(second):
            self._refuse(msg, f"{first!r} and {second!r} are of different classes")
        for field in dataclasses.fields(first):
            one, other = getattr(first, field.name), getattr(second, field.name)
            if one != other:
                self._refuse(msg, f"field {field.name!r} differs: {one!r} and {other!r}")

    # Elements.

    def assertItemsEqual(
        self, first: Iterable[Any], second: Iterable[Any], msg: Any = None
    ) -> None:
        """Assert that the elements and their counts are equal, in any order."""
        self.assertCountEqual(first, second, msg)

    def assertSameElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: object = None
    ) -> None:
        """Assert that the elements are the same, in any order and number."""
        if isinstance(expected_seq, str) or isinstance(actual_seq, str):
            self.fail("assertSameElements: must be given lists, not a str\n  Try: assertEqual")
        wanted, found = list(expected_seq), list(actual_seq)
        missing = [one for one in wanted if one not in found]
        extra = [one for one in found if one not in wanted]
        if missing or extra:
            self._refuse(msg, f"elements differ: missing {missing!r}, more than wanted {extra!r}")

    def assertContainsSubset(
        self, expected_subset: Iterable[Any], actual_set: Iterable[Any], msg: object = None
    ) -> None:
        """Assert that every element of the first is in the second."""
        found = list(actual_set)
        missing = [one for one in expected_subset if one not in found]
        if missing:
            self._refuse(msg, f"{missing!r} missing in {found!r}")

    def assertNoCommonElements(
        self, expected_seq: Iterable[Any], actual_seq: Iterable[Any], msg: object = None
    ) -> None:
        """Assert that no element of the first is in the second."""
        found = list(actual_seq)
        common = [one for one in expected_seq if one in found]
        if common:
            self._refuse(msg, f"{common!r} are in both")

    def assertSequenceStartsWith(
        self, prefix: Any, whole: Sequence[Any], msg: object = None
    ) -> None:
        """Assert that the sequence begins with these elements, or with this one."""
        wanted = [prefix] if not isinstance(prefix, collections.abc.Sized) else list(prefix)  # type: ignore[call-overload]
        if list(whole[: len(wanted)]) != wanted:
            self._refuse(msg, f"{whole!r} does not begin with {prefix!r}")

    def assertContainsSubsequence(
        self, container: Iterable[Any], subsequence: Iterable[Any], msg: object = None
    ) -> None:
        """Assert that the first contains the second's elements in order, others between allowed."""
        left = iter(container)
        for one in subsequence:
            if not any(one == other for other in left):
                self._refuse(msg, f"{one!r} is not in its place among {container!r}")

    def assertContainsExactSubsequence(
        self, container: Sequence[Any], subsequence: Collection[Any], msg: object = None
    ) -> None:
        """Assert that the first contains the second's elements in order, with no others between."""
        wanted, items = list(subsequence), list(container)
        places = range(len(items) - len(wanted) + 1)
        if not any(items[at : at + len(wanted)] == wanted for at in places):
            self._refuse(msg, f"{wanted!r} is not a part of {container!r}")

    def assertContainsInOrder(
        self, strings: Sequence[str], target: str, msg: object = None
    ) -> None:
        """Assert that the texts occur in the last one, each after the one before it."""
        place = 0
        for one in [strings] if isinstance(strings, str) else strings:
            found = target.find(one, place)
            if found < 0:
                self._refuse(msg, f"{one!r} is not in {target!r} after place {place}")
            place = found + len(one)

    def assertTotallyOrdered(self, *groups: Sequence[Any], **kwargs: Any) -> None:
        """Assert that elements of a group are equal, and less than those of later groups."""
        msg = kwargs.get("msg")
        for group in groups:
            for a, b in itertools.product(group, repeat=2):
                if a != b or a < b or a > b or not (a <= b and a >= b and a == b):
                    self._refuse(msg, f"{a!r} and {b!r} must be equal")
                if hash(a) != hash(b):
                    self._refuse(msg, f"{a!r} and {b!r} are equal, and their hashes are not")
        for lower, upper in itertools.combinations(groups, 2):
            for a, b in itertools.product(lower, upper):
                if a == b or not (a != b and a < b and a <= b and b > a and b >= a) or b < a:
                    self._refuse(msg, f"{a!r} must be less than {b!r}")

    # Texts.

    def assertStartsWith(self, actual: Any, expected_start: Any, msg: object = None) -> None:
        """The text begins so."""
        if not actual.startswith(expected_start):
            self._refuse(msg, f"{actual!r} does not start with {expected_start!r}")

    def assertNotStartsWith(self, actual: Any, unexpected_start: Any, msg: object = None) -> None:
        """The text does not begin so."""
        if actual.startswith(unexpected_start):
            self._refuse(msg, f"{actual!r} starts with {unexpected_start!r}")

    def assertEndsWith(self, actual: Any, expected_end: Any, msg: object = None) -> None:
        """The text ends so."""
        if not actual.endswith(expected_end):
            self._refuse(msg, f"{actual!r} does not end with {expected_end!r}")

    def assertNotEndsWith(self, actual: Any, unexpected_end: Any, msg: object = None) -> None:
        """The text does not end so."""
        if actual.endswith(unexpected_end):
            self._refuse(msg, f"{actual!r} ends with {unexpected_end!r}")

    def assertRegexMatch(
        self, actual_str: Any, regexes: Sequence[Any], message: object = None
    ) -> None:
        """Assert that one of the patterns matches somewhere in the text."""
        if isinstance(regexes, (str, bytes)):
            self.fail("assertRegexMatch: regexes must be a list of patterns\n  Try: assertRegex")
        if not regexes:
            self.fail("assertRegexMatch: regexes must hold a pattern, got none")
        if not any(re.search(one, actual_str) for one in regexes):
            self._refuse(message, f"{actual_str!r} matches none of {list(regexes)!r}")

    def assertUrlEqual(self, a: str, b: str, msg: object = None) -> None:
        """Assert that two URLs differ at most in the order of their parameters."""
        one, other = urlparse(a), urlparse(b)
        for part in ("scheme", "netloc", "path", "fragment"):
            self.assertEqual(getattr(one, part), getattr(other, part), msg)
        self.assertEqual(sorted(one.params.split(";")), sorted(other.params.split(";")), msg)
        self.assertDictEqual(
            parse_qs(one.query, keep_blank_values=True),
            parse_qs(other.query, keep_blank_values=True),
            msg,
        )

    def assertJsonEqual(self, first: str, second: str, msg: object = None) -> None:
        """Assert that two JSON texts represent the same value."""
        found = []
        for text in (first, second):
            try:
                found.append(json.loads(text))
            except ValueError as error:
                self._refuse(msg, f"{text!r} is not JSON: {error}")
        one, other = found
        self.assertSameStructure(one, other, "first", "second", msg)

    def assertSameStructure(
        self, a: Any, b: Any, aname: str = "a", bname: str = "b", msg: object = None
    ) -> None:
        """Assert that two nests are equal; the error lists the differences."""
        problems = list(_differences(a, b, aname, bname))
        if problems:
            self._refuse(msg, "; ".join(problems))

    # Classes and errors.

    def assertIsSubclass(self, cls: Any, superclass: Any, msg: object = None) -> None:
        """Assert that the first class is a subclass of the second."""
        if not issubclass(cls, superclass):
            self._refuse(msg, f"{cls!r} is not a subclass of {superclass!r}")

    def assertNotIsSubclass(self, cls: Any, superclass: Any, msg: object = None) -> None:
        """Assert that the first class is not a subclass of the second."""
        if issubclass(cls, superclass):
            self._refuse(msg, f"{cls!r} is a subclass of {superclass!r}")

    def assertRaisesWithLiteralMatch(
        self,
        expected_exception: type[BaseException],
        expected_exception_message: str,
        callable_obj: Callable[..., Any] | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Assert that a block or call raises an error of that class with exactly that text."""
        raised = self._raising(expected_exception, expected_exception_message)
        if callable_obj is None:
            return raised
        with raised:
            callable_obj(*args, **kwargs)
        return None

    @contextmanager
    def _raising(self, kind: type[BaseException], message: str) -> Iterator[None]:
        with self.assertRaises(kind) as caught:
            yield
        if str(caught.exception) != message:
            self.fail(
                f"{kind.__name__} must have the message {message!r}, got {str(caught.exception)!r}"
            )


def _differences(a: Any, b: Any, aname: str, bname: str) -> Iterator[str]:
    """A description of each difference between two nests."""
    if isinstance(a, collections.abc.Mapping) and isinstance(b, collections.abc.Mapping):
        for key in [*a, *(key for key in b if key not in a)]:
            one, other = a.get(key, _NOTHING), b.get(key, _NOTHING)
            if one is _NOTHING or other is _NOTHING:
                with_it, without = (aname, bname) if other is _NOTHING else (bname, aname)
                yield f"{with_it} has [{key!r}] but {without} does not"
            else:
                yield from _differences(one, other, f"{aname}[{key!r}]", f"{bname}[{key!r}]")
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        if len(a) != len(b):
            yield f"{aname} has {len(a)} elements and {bname} has {len(b)}"
        for index, (one, other) in enumerate(zip(a, b, strict=False)):
            yield from _differences(one, other, f"{aname}[{index}]", f"{bname}[{index}]")
    elif a != b:
        yield f"{aname} is {a!r} but {bname} is {b!r}"
