r"""RE2 expressions as trees with the same meaning in Python's and JavaScript's engines.

A tree is JSON: `{"text": "ab"}`; `{"set": [[97, 122]]}`, one character of these ranges;
`{"all": [...]}`, a sequence; `{"any": [...]}`, the first alternative that matches;
`{"repeat": tree, "min": 1, "max": null, "lazy": false}`; `{"group": tree, "number": 1}`;
`{"at": "start"}`, or `end`, `line_start`, `line_end`, `word`.

RE2 runs in linear time, the other engines backtrack: expressions that could take exponential time,
or that engines interpret differently, are refused.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

from pinnace.deploy.tokenizer.errors import UnsupportedError
from pinnace.deploy.tokenizer.sets import (
    CLASSES,
    POSIX,
    Ranges,
    category,
    complement,
    folded,
    overlap,
    union,
)

Tree: TypeAlias = dict[str, Any]

_LARGEST_REPEAT = 1000  # RE2's
_LARGEST_PATTERN = 10_000  # characters
_DEEPEST = 50
_SURROGATES = (0xD800, 0xDFFF)
_ESCAPES = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
_PLACES = {"A": "start", "z": "end", "b": "word"}
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED = re.compile(r"\(\?P?<\w+>")
_COUNTS = re.compile(r"\{(\d+)(,(\d*))?\}")


def parse(pattern: str, used: Iterable[int] = ()) -> Tree:
    """Parse an expression to a tree.

    Args:
        pattern: the expression in RE2's syntax.
        used: indices of the groups that are referenced; others are left out.

    Raises:
        UnsupportedError: other engines lack a part of the syntax, or interpret it differently.
    """
    if len(pattern) > _LARGEST_PATTERN:
        raise UnsupportedError(f"an expression of more than {_LARGEST_PATTERN} characters")
    parser = _Parser(pattern, frozenset(used))
    tree = parser.whole()
    _check(tree, repeated=False)
    return _of_text(tree)


def _of_text(tree: Tree) -> Tree:
    """`tree` without the code points that stand for invalid bytes, which RE2 never matches."""
    if "set" in tree:
        ranges: Ranges = tree["set"]
        found = [
            [*part]
            for low, high in ranges
            for part in ((low, min(high, _SURROGATES[0] - 1)), (max(low, _SURROGATES[1] + 1), high))
            if part[0] <= part[1]
        ]
        return {"set": union(found)}
    return {
        key: [_of_text(one) for one in value]
        if key in ("all", "any")
        else _of_text(value)
        if key in ("repeat", "group")
        else value
        for key, value in tree.items()
    }


class _Parser:
    """A recursive-descent parser, with a method for each level of the grammar."""

    def __init__(self, pattern: str, used: frozenset[int]) -> None:
        self.pattern = pattern
        self.used = used
        self.place = 0
        self.groups = 0
        self.depth = 0
        self.flags: frozenset[str] = frozenset()

    def whole(self) -> Tree:
        tree = self._either()
        if self.place < len(self.pattern):
            self._fail("a ) without (")
        return tree

    def _fail(self, what: str) -> NoReturn:
        raise UnsupportedError(f"{what} at character {self.place}")

    def _next(self, count: int = 1) -> str:
        return self.pattern[self.place : self.place + count]

    def _either(self) -> Tree:
        self.depth += 1
        if self.depth > _DEEPEST:
            self._fail(f"more than {_DEEPEST} groups in each other")
        branches = [self._sequence()]
        while self._next() == "|":
            self.place += 1
            branches.append(self._sequence())
        self.depth -= 1
        return _any_of(branches)

    def _sequence(self) -> Tree:
        parts: list[Tree] = []
        while self.place < len(self.pattern) and self._next() not in "|)":
            part = self._part(is_first=not parts)
            if part is not None:
                parts.append(self._repeated(part))
        return _all_of(parts)

    def _part(self, *, is_first: bool) -> Tree | None:
        char = self._next()
        if char == "(":
            return self._group(is_first=is_first)
        if char == "[":
            return {"set": self._bracket()}
        if char == "\\":
            return self._escape()
        self.place += 1
        if char == ".":
            return {"set": [[0, 0x10FFFF]] if "s" in self.flags else complement([[10, 10]])}
        if char == "^":
            return {"at": "line_start" if "m" in self.flags else "start"}
        if char == "$":
            return {"at": "line_end" if "m" in self.flags else "end"}
        if char in "*+?":
            self._fail(f"{char} with nothing before it")
        return self._letter(ord(char))

    def _letter(self, code: int) -> Tree:
        if "i" in self.flags:
            found = self._fold([[code, code]])
            if found != [[code, code]]:
                return {"set": found}
        return {"text": chr(code)}

    def _fold(self, ranges: Ranges) -> Ranges:
        if "i" not in self.flags:
            return ranges
        found = folded(ranges)
        if found is None:
            self._fail("letters other than ASCII's whose case shall not matter")
        return found

    def _group(self, *, is_first: bool) -> Tree | None:
        flags = _FLAGS.match(self.pattern, self.place)
        before = self.flags
        number = 0
        if flags:
            self.place = flags.end()
            if "U" in flags.group(1) + (flags.group(2) or ""):
                self._fail("the flag U")
            after = (before | set(flags.group(1))) - set(flags.group(2) or "")
            if flags.group(3) == ")":
                if not is_first or self.depth > 1:
                    self._fail("flags that are set in the middle")
                self.flags = after
                return None
            self.flags = after
        else:
            named = _NAMED.match(self.pattern, self.place)
            if self._next(2) == "(?" and not named:
                self._fail(f"{self._next(3)}")
            self.place = named.end() if named else self.place + 1
            self.groups += 1
            number = self.groups
        inside = self._either()
        if self._next() != ")":
            self._fail("a ( without )")
        self.place += 1
        self.flags = before
        return {"group": inside, "number": number} if number in self.used else inside

    def _repeated(self, part: Tree) -> Tree:
        char = self._next()
        counts = _COUNTS.match(self.pattern, self.place)
        if char and char in "*+?":
            self.place += 1
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        elif counts:
            self.place = counts.end()
            low = int(counts.group(1))
            high = low
            if counts.group(2):
                high = int(counts.group(3)) if counts.group(3) else None
            if max(low, high or 0) > _LARGEST_REPEAT or (high is not None and high < low):
                self._fail(f"the repeat {counts.group()}")
        else:
            return part
        lazy = self._next() == "?"
        self.place += lazy
        if self._next() in {"*", "+", "?"} or _COUNTS.match(self.pattern, self.place):
            self._fail("a repeat of a repeat")
        return {"repeat": part, "min": low, "max": high, "lazy": lazy}

    def _escape(self) -> Tree:
        kind = self.pattern[self.place + 1 : self.place + 2]
        if kind in _PLACES and kind:
            self.place += 2
            return {"at": _PLACES[kind]}
        if kind == "B":
            self._fail("\\B, which RE2 finds inside of letters of several bytes too,")
        if kind == "Q":
            end = self.pattern.find("\\E", self.place)
            end = len(self.pattern) if end < 0 else end
            text = self.pattern[self.place + 2 : end]
            self.place = end + 2
            if len(text) != 1 and (self._next() in {"*", "+", "?"} or self._next() == "{"):
                self._fail("a repeat behind \\E")
            return _all_of([self._letter(ord(char)) for char in text])
        found = self._escaped_set()
        if found is not None:
            return {"set": self._fold(found) if kind in "pP" else found}
        return self._letter(self._escaped_letter())

    def _escaped_set(self) -> Ranges | None:
        r"""The set of \d, \pL and the like; None if the backslash begins a single character."""
        kind = self.pattern[self.place + 1 : self.place + 2]
        if kind and kind in "pP":
            found = re.compile(r"\\[pP](?:\{(\^?)(\w+)\}|(\w))").match(self.pattern, self.place)
            name = found and (found.group(2) or found.group(3))
            ranges = category(name) if name else None
            if found is None or ranges is None:
                self._fail(f"\\{kind} and something that is no general category of Unicode")
            self.place = found.end()
            return complement(ranges) if (kind == "P") != bool(found.group(1)) else ranges
        if kind and kind.lower() in CLASSES:
            self.place += 2
            ranges = CLASSES[kind.lower()]
            return complement(ranges) if kind.isupper() else ranges
        return None

    def _escaped_letter(self) -> int:
        kind = self.pattern[self.place + 1 : self.place + 2]
        octal = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})").match(self.pattern, self.place)
        hexadecimal = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})").match(
            self.pattern, self.place
        )
        if kind in _ESCAPES and kind:
            self.place += 2
            return _ESCAPES[kind]
        if hexadecimal:
            self.place = hexadecimal.end()
            code = int(hexadecimal.group(1) or hexadecimal.group(2), 16)
            if code > 0x10FFFF:
                self._fail("no code point")
            return code
        if octal:
            self.place = octal.end()
            return int(octal.group(1), 8)
        if not kind or not kind.isascii() or kind.isalnum():
            self._fail(f"\\{kind}")
        self.place += 2
        return ord(kind)

    def _bracket(self) -> Ranges:
        self.place += 1
        negated = self._next() == "^"
        self.place += negated
        found: Ranges = []
        first = True
        while True:
            char = self._next()
            if not char:
                self._fail("a [ without ]")
            if char == "]" and not first:
                self.place += 1
                break
            found = union(found, self._member(first=first))
            first = False
        found = self._fold(found)
        return complement(found) if negated else found

    def _member(self, *, first: bool) -> Ranges:
        named = re.compile(r"\[:(\^?)(\w*):\]").match(self.pattern, self.place)
        if named:
            ranges = POSIX.get(named.group(2))
            if ranges is None:
                self._fail(named.group())
            self.place = named.end()
            return complement(ranges) if named.group(1) else ranges
        if self._next() == "\\":
            ranges = self._escaped_set()
            if ranges is not None:
                return ranges
        char = self._next()
        after = self.pattern[self.place + 1 : self.place + 2]
        if char == "-" and not first and after != "]":
            self._fail("a - between ranges")
        low = self._single()
        if self._next() != "-" or self.pattern[self.place + 1 : self.place + 2] in {"]", ""}:
            return [[low, low]]
        self.place += 1
        if self._next() == "[" and self.pattern[self.place + 1 : self.place + 2] == ":":
            self._fail("a range to a class")
        high = self._single()
        if high < low:
            self._fail("a range that goes backwards")
        return [[low, high]]

    def _single(self) -> int:
        if self._next() == "\\":
            return self._escaped_letter()
        self.place += 1
        return ord(self.pattern[self.place - 1])


def _all_of(parts: Sequence[Tree]) -> Tree:
    """A sequence of parts; adjacent characters are joined to texts."""
    joined: list[Tree] = []
    for part in parts:
        for piece in part.get("all", [part]):
            if "text" in piece and joined and "text" in joined[-1]:
                joined[-1] = {"text": joined[-1]["text"] + piece["text"]}
            else:
                joined.append(piece)
    return joined[0] if len(joined) == 1 else {"all": joined}


def _any_of(branches: Sequence[Tree]) -> Tree:
    """Alternatives; single characters are merged to a set."""
    if len(branches) == 1:
        return branches[0]
    singles = [_single_set(branch) for branch in branches]
    if all(single is not None for single in singles):
        return {"set": union(*[single for single in singles if single is not None])}
    return {"any": list(branches)}


def _single_set(tree: Tree) -> Ranges | None:
    if "set" in tree:
        ranges: Ranges = tree["set"]
        return ranges
    if "text" in tree and len(tree["text"]) == 1:
        code = ord(tree["text"])
        return [[code, code]]
    return None


# Expressions that may take exponential time, or that engines treat differently.


def _check(tree: Tree, *, repeated: bool) -> None:
    if "repeat" in tree:
        if _may_be_empty(tree["repeat"]):
            raise UnsupportedError("a repeat of what may be empty")
        if repeated and tree["min"] != tree["max"]:
            raise UnsupportedError("a repeat in a repeat, which may take exponential time")
        often = tree["max"] is None or tree["max"] > 1
        _check(tree["repeat"], repeated=repeated or often)
    elif "group" in tree:
        if repeated:
            raise UnsupportedError("a group in a repeat, of which the rewrite asks for the last")
        _check(tree["group"], repeated=repeated)
    else:
        branches = tree.get("any", ())
        if repeated:
            firsts = [_first(branch) for branch in branches]
            for index, one in enumerate(firsts):
                if any(overlap(one, other) for other in firsts[:index]):
                    raise UnsupportedError(
                        "branches in a repeat that begin alike, which may take exponential time"
                    )
        for part in (*branches, *tree.get("all", ())):
            _check(part, repeated=repeated)


def _may_be_empty(tree: Tree) -> bool:
    if "repeat" in tree:
        return tree["min"] == 0 or _may_be_empty(tree["repeat"])
    if "group" in tree:
        return _may_be_empty(tree["group"])
    if "any" in tree:
        return any(_may_be_empty(part) for part in tree["any"])
    if "all" in tree:
        return all(_may_be_empty(part) for part in tree["all"])
    return "at" in tree


def _first(tree: Tree) -> Ranges:
    """The characters that a match may begin with."""
    if "text" in tree:
        return [[ord(tree["text"][0])] * 2]
    if "set" in tree:
        ranges: Ranges = tree["set"]
        return ranges
    if "repeat" in tree:
        return _first(tree["repeat"])
    if "group" in tree:
        return _first(tree["group"])
    if "any" in tree:
        return union(*map(_first, tree["any"]))
    found: Ranges = []
    for part in tree.get("all", ()):
        found = union(found, _first(part))
        if not _may_be_empty(part):
            break
    return found
