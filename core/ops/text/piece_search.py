"""Search for pieces of a normalized text: by scores, merges, words or characters."""

from __future__ import annotations

import heapq
import itertools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from pinnace.ops.text.piece_normalization import SPACE
from pinnace.proto.piece_model_pb2 import PieceModel, PieceTraining

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pinnace.ops.text.piece_vocabulary import Vocabulary

Cut: TypeAlias = "list[tuple[bytes, int]]"  # pieces of the text with their ids
_UNKNOWN_PENALTY = 10.0
_BONUS = 0.1
_MOST_CUTS = 1024
_LONG, _SHORT = 10_000, 512  # the most waiting paths, and how many of them are kept then
_SMALLEST = float(np.finfo(np.float32).tiny)
_SPACE = SPACE.decode()


def _single(x: float) -> float:
    """The number rounded to float32, in which SentencePiece adds scores."""
    return float(np.float32(x))


class Search(ABC):
    """The algorithm by which a model cuts texts into pieces.

    Args:
        vocabulary: its pieces.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    @abstractmethod
    def cut(self, text: bytes) -> Cut:
        """The best cut."""


@runtime_checkable
class Drawing(Protocol):
    """A search that draws cuts."""

    def sample(self, text: bytes, alpha: float, random: np.random.Generator) -> Cut:
        """A cut that is drawn at random."""


class ByWord(Search):
    """Pieces are words, each with its preceding space."""

    def cut(self, text: bytes) -> Cut:
        """The words."""
        parts = text.decode("utf-8", "surrogateescape").split(_SPACE)
        words = [part.encode("utf-8", "surrogateescape") for part in parts]
        found = [words[0], *(SPACE + word for word in words[1:])]
        return [(word, self.vocabulary.number(word)) for word in found if word]


class ByCharacter(Search):
    """Pieces are characters, or symbols of the model."""

    def cut(self, text: bytes) -> Cut:
        """The characters."""
        return [
            (part, self.vocabulary.number(part)) for part, _ in self.vocabulary.characters(text)
        ]


class ByMerges(Search):
    """Byte-pair encoding: the neighbours with the highest score are merged, repeatedly."""

    def cut(self, text: bytes) -> Cut:
        """The pieces that remain when no two neighbours can be merged."""
        return _Merging(self.vocabulary, text).done(lambda: False)

    def sample(self, text: bytes, alpha: float, random: np.random.Generator) -> Cut:
        """Pieces with each merge skipped at probability `alpha` (BPE-dropout)."""
        return _Merging(self.vocabulary, text).done(lambda: bool(random.random() < alpha))


class _Merging:
    """A text whose pieces are being merged.

    Args:
        vocabulary: the pieces of the model.
        text: the normalized text, which is cut into characters at first.
    """

    def __init__(self, vocabulary: Vocabulary, text: bytes) -> None:
        self._vocabulary = vocabulary
        parts = list(vocabulary.characters(text))
        self._pieces = [part for part, _ in parts]
        self._fixed = [is_symbol for _, is_symbol in parts]
        self._after = [*range(1, len(parts)), -1]
        self._before = [-1, *range(len(parts) - 1)]
        # A heap: the highest score first, the leftmost among equal ones.
        self._waiting: list[tuple[float, int, int, int]] = []
        self._halves: dict[bytes, tuple[bytes, bytes]] = {}

    def _consider(self, left: int, right: int) -> None:
        if left < 0 or right < 0 or self._fixed[left] or self._fixed[right]:
            return
        vocabulary = self._vocabulary
        whole = self._pieces[left] + self._pieces[right]
        number = vocabulary.pieces.get(whole)
        if number is not None:
            entry = (-vocabulary.scores[number], left, right, len(whole))
            heapq.heappush(self._waiting, entry)
            if number in vocabulary.unused:
                self._halves[whole] = self._pieces[left], self._pieces[right]

    def done(self, leaves_out: Callable[[], bool]) -> Cut:
        """The pieces that are left after all merges.

        Args:
            leaves_out: tells of each merge whether it is skipped.
        """
        pieces, before, after = self._pieces, self._before, self._after
        for right in range(1, len(pieces)):
            self._consider(right - 1, right)
        while self._waiting:
            _, left, right, size = heapq.heappop(self._waiting)
            is_gone = not pieces[left] or not pieces[right]
            if is_gone or len(pieces[left]) + len(pieces[right]) != size:
                continue  # one of them has been merged meanwhile
            if leaves_out():
                continue
            pieces[left] += pieces[right]
            pieces[right] = b""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            self._consider(before[left], left)
            self._consider(left, after[left])
        return [one for piece in filter(None, pieces) for one in self._used(piece)]

    def _used(self, piece: bytes) -> Iterator[tuple[bytes, int]]:
        """The piece, or the pieces it was merged from if it is an intermediate one."""
        waiting = [piece]
        while waiting:
            part = waiting.pop()
            number = self._vocabulary.number(part)
            if number in self._vocabulary.unused and part in self._halves:
                waiting += reversed(self._halves[part])
            else:
                yield part, number


class _Node(NamedTuple):
    """A piece at a place of a text: a node of the lattice of all cuts.

    Attributes:
        start: the index of its first character.
        number: number of the piece.
        score: score of the piece.
        best: the score of the best path that ends with it.
        alpha: the log-sum-exp of the scores of all paths to its beginning.
    """

    start: int
    number: int
    score: float
    best: float
    alpha: float


class ByScores(Search):
    """The split into pieces with the highest sum of scores."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__(vocabulary)
        scores = [vocabulary.scores[number] for number in vocabulary.normal]
        self._unknown = _single(min(scores, default=0.0) - _UNKNOWN_PENALTY)
        self._highest = max([_SMALLEST, *scores])
        self._numbers: dict[str, int] = {}
        self._begun: set[str] = set()  # prefixes of pieces
        for piece, number in vocabulary.pieces.items():
            text = piece.decode("utf-8", "surrogateescape")
            self._begun.update(text[:size] for size in range(1, len(text) + 1))
            self._numbers[text] = number

    def _score(self, number: int, size: int) -> float:
        """The score of a piece; user-defined symbols beat all others."""
        if number in self.vocabulary.symbols:
            return _single(size * self._highest) - _BONUS
        return self.vocabulary.scores[number]

    def _from(self, text: str, start: int) -> Iterator[tuple[int, int]]:
        """The pieces that start at a position: the end and id of each."""
        for end in range(start + 1, len(text) + 1):
            part = text[start:end]
            if part not in self._begun:
                return
            number = self._numbers.get(part, -1)
            if number >= 0 and number not in self.vocabulary.unused:
                yield end, number

    def cut(self, text: bytes) -> Cut:
        """The best split, by dynamic programming over piece ends (Viterbi)."""
        chars = text.decode("utf-8", "surrogateescape")
        count = len(chars)
        starts, numbers, best = [-1] * (count + 1), [-1] * (count + 1), [0.0] * (count + 1)
        sizes = [len(one.encode("utf-8", "surrogateescape")) for one in chars]
        ends = [0, *itertools.accumulate(sizes)]
        for start in range(count):
            has_one = False
            here = best[start]
            for end, number in self._from(chars, start):
                has_one |= end == start + 1
                total = self._score(number, ends[end] - ends[start]) + here
                if starts[end] < 0 or total > best[end]:
                    starts[end], numbers[end], best[end] = start, number, _single(total)
            if not has_one:
                total = _single(self._unknown + here)
                end = start + 1
                if starts[end] < 0 or total > best[end]:
                    starts[end], best[end] = start, total
                    numbers[end] = self.vocabulary.unknown
        found: Cut = []
        end = count
        while end > 0:
            found.append((text[ends[starts[end]] : ends[end]], numbers[end]))
            end = starts[end]
        found.reverse()
        return found

    def _lattice(self, chars: str, alpha: float) -> list[list[_Node]]:
        """All pieces by end position; `alpha` multiplies scores in the sums."""
        count = len(chars)
        ending: list[list[_Node]] = [[] for _ in range(count + 1)]
        ending[0].append(_Node(-1, -1, 0.0, 0.0, 0.0))
        for start in range(count):
            best = max(node.best for node in ending[start])
            total = _log_sum([alpha * node.score + node.alpha for node in ending[start]])
            has_one = False
            for end, number in self._from(chars, start):
                has_one |= end == start + 1
                score = _single(self._score(number, end - start))
                ending[end].append(_Node(start, number, score, _single(best + score), total))
            if not has_one:
                number, score = self.vocabulary.unknown, self._unknown
                node = _Node(start, number, score, _single(best + score), total)
                ending[start + 1].append(node)
        return ending

    def best(self, text: bytes, count: int) -> list[tuple[Cut, float]]:
        """The best splits with their scores, by A* search from the end of the text."""
        count = max(1, min(count, _MOST_CUTS))
        if count == 1:
            return [(self.cut(text), 0.0)]
        chars = text.decode("utf-8", "surrogateescape")
        ending = self._lattice(chars, 0.0)
        order = itertools.count()
        # Negated upper bound of the score, order of discovery, first character, score so far,
        # pieces.
        waiting: list[tuple[float, int, int, float, _Path | None]] = []
        heapq.heappush(waiting, (0.0, next(order), len(chars), 0.0, None))
        results: list[tuple[Cut, float]] = []
        while waiting and len(results) < count:
            reach, _, place, score, path = heapq.heappop(waiting)
            if place < 0:
                results.append((_pieces(chars, path), -reach))
                continue
            for node in ending[place]:
                longer = path if node.start < 0 else _Path(node.start, place, node.number, path)
                new = (-_single(node.best + score), next(order), node.start)
                heapq.heappush(waiting, (*new, _single(node.score + score), longer))
            if len(waiting) >= _LONG:
                waiting = heapq.nsmallest(min(_SHORT, 10 * count), waiting)
        return results

    def sample(self, text: bytes, alpha: float, random: np.random.Generator) -> Cut:
        """A split drawn with probability softmax(alpha * score), from the end backwards."""
        chars = text.decode("utf-8", "surrogateescape")
        ending = self._lattice(chars, alpha)
        place, path = len(chars), None
        while place > 0:
            logs = [alpha * node.score + node.alpha for node in ending[place]]
            chances = np.exp(np.array(logs) - _log_sum(logs))
            node = ending[place][random.choice(len(logs), p=chances / chances.sum())]
            path = _Path(node.start, place, node.number, path)
            place = node.start
        return _pieces(chars, path)


class _Path(NamedTuple):
    """The pieces from a position to the end of the text, as a linked list."""

    start: int
    end: int
    number: int
    rest: _Path | None


def _pieces(chars: str, path: _Path | None) -> Cut:
    found: Cut = []
    while path is not None:
        part = chars[path.start : path.end].encode("utf-8", "surrogateescape")
        found.append((part, path.number))
        path = path.rest
    return found


def _log_sum(logs: list[float]) -> float:
    most = max(logs)
    return most + float(np.log(np.exp(np.array(logs) - most).sum()))


_KINDS: dict[int, Callable[[Vocabulary], Search]] = {
    PieceTraining.UNIGRAM: ByScores,
    PieceTraining.BPE: ByMerges,
    PieceTraining.WORD: ByWord,
    PieceTraining.CHAR: ByCharacter,
}


def search_of(model: PieceModel, vocabulary: Vocabulary) -> Search:
    """The search for the type of model stored in the file."""
    return _KINDS[model.trainer_spec.model_type](vocabulary)
