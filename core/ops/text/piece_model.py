"""SentencePiece models: texts to pieces and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from pinnace.framework.errors import InternalError, InvalidArgumentError, OutOfRangeError
from pinnace.ops.text.piece_normalization import SPACE, Normalizer
from pinnace.ops.text.piece_search import ByScores, Drawing, search_of
from pinnace.ops.text.piece_vocabulary import BYTES, Vocabulary
from pinnace.proto.piece_model_pb2 import PieceModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pinnace.ops.text.piece_search import Cut

_MOST_SAMPLED = 512
_UNKNOWN = " \u2047 ".encode()
_INVALID = "\ufffd".encode()


class Piece(NamedTuple):
    """A piece of a text.

    Attributes:
        text: text of the piece; for an unknown one, the original text.
        number: index in the model.
        start: its start, in bytes of the given text.
        end: its end.
    """

    text: bytes
    number: int
    start: int
    end: int


class Ends(NamedTuple):
    """The steps that are applied to the pieces of every text, in this order.

    Attributes:
        first: whether the begin-of-sentence piece is put before them.
        last: whether the end-of-sentence piece is put behind them.
        is_reversed: whether their order is reversed.
    """

    first: bool = False
    last: bool = False
    is_reversed: bool = False


class TextPieces:
    """A model of SentencePiece, parsed from its file.

    Args:
        content: the message of the file.

    Raises:
        InvalidArgumentError: the content is empty.
        InternalError: the model is damaged.
    """

    def __init__(self, content: bytes) -> None:
        if not content:
            raise InvalidArgumentError("SentencepieceOp: Model argument must be specified.")
        try:
            model = PieceModel.FromString(content)
        except DecodeError:
            raise InternalError(
                "SentencepieceOp: the model is no message of SentencePiece"
            ) from None
        training = model.trainer_spec
        self.vocabulary = Vocabulary(model)
        self._search = search_of(model, self.vocabulary)
        self._normalizer = Normalizer(
            model.normalizer_spec,
            self.vocabulary.matcher,
            is_suffix=training.treat_whitespace_as_suffix,
        )
        self._rules = model.normalizer_spec
        after = model.denormalizer_spec
        self._denormalizer = Normalizer(after) if after.precompiled_charsmap else None
        self._uses_bytes = training.byte_fallback
        self._first, self._last = training.bos_piece, training.eos_piece
        self._surface = training.unk_surface if training.HasField("unk_surface") else _UNKNOWN

    def __repr__(self) -> str:
        return f"<TextPieces of {len(self.vocabulary.texts)} pieces>"

    def cut(
        self, text: bytes, ends: Ends, count: int, alpha: float, random: np.random.Generator
    ) -> list[Piece]:
        """The pieces of a text.

        Args:
            text: the text to split.
            ends: the treatment of the pieces.
            count: 0 or 1 gives the best cut, more draws one of the `count` best, -1 one of all.
            alpha: inverse temperature of the draw; with BPE the probability of skipping a merge.
            random: the generator that draws.

        Raises:
            InternalError: models of this kind draw nothing.
        """
        normal, origins = self._normalizer.normalized(text)
        search = self._search
        if count in {0, 1}:
            return self._placed(origins, search.cut(normal) if normal else [], ends)
        if count > _MOST_SAMPLED:
            raise InternalError("nbest_size must be nbest_size <= 512")
        if count > 0 and isinstance(search, ByScores):
            cuts = search.best(normal, count) if normal else [([], 0.0)]
            logs = np.array([alpha * score for _, score in cuts])
            chances = np.exp(logs - logs.max())
            found, _ = cuts[random.choice(len(cuts), p=chances / chances.sum())]
        elif isinstance(search, Drawing):
            found = search.sample(normal, alpha, random) if normal else []
        else:
            raise InternalError("SampleEncode is not available for the current model.")
        return self._placed(origins, found, ends)

    def best(self, text: bytes, ends: Ends, count: int) -> list[list[Piece]]:
        """The best cuts of a text, the best one first.

        Raises:
            InternalError: models of this kind rank nothing.
        """
        normal, origins = self._normalizer.normalized(text)
        if not isinstance(self._search, ByScores):
            raise InternalError("NBestEncode is not available for the current model.")
        cuts = self._search.best(normal, count) if normal else [([], 0.0)]
        return [self._placed(origins, found, ends) for found, _ in cuts]

    def _placed(self, origins: list[int], cut: Cut, ends: Ends) -> list[Piece]:
        """The pieces with positions; adjacent unknown pieces become one piece, or bytes."""
        found: list[Piece] = []
        at, was_unknown = 0, False
        for part, number in cut:
            is_unknown = number == self.vocabulary.unknown
            if self.vocabulary.is_control(number):
                found.append(Piece(part, number, origins[at], origins[at]))
                was_unknown = False
                continue
            start, end = origins[at], origins[at + len(part)]
            if is_unknown and self._uses_bytes:
                names = [b"<0x%02X>" % byte for byte in part]
                numbers = [self.vocabulary.number(name) for name in names]
                places = [start] * (len(part) - 1) + [end]
                found += map(Piece, names, numbers, [start] * len(part), places)
            elif is_unknown and was_unknown:
                before = found.pop()
                found.append(before._replace(text=before.text + part, end=end))
            else:
                found.append(Piece(part, number, start, end))
            at += len(part)
            was_unknown = is_unknown
        return self._ended(found, ends)

    def _ended(self, pieces: list[Piece], ends: Ends) -> list[Piece]:
        """The pieces after the steps of `ends`; begin and end are at 0, as in TensorFlow Text."""
        found = list(pieces)
        if ends.first:
            found.insert(0, Piece(self._first, self._end(self._first), 0, 0))
        if ends.last:
            found.append(Piece(self._last, self._end(self._last), 0, 0))
        return found[::-1] if ends.is_reversed else found

    def _end(self, text: bytes) -> int:
        number = self.vocabulary.number(text)
        if number == self.vocabulary.unknown:
            raise InternalError(f"id for `{text.decode('utf-8', 'replace')}` is not defined.")
        return number

    def text_of_number(self, number: int) -> bytes:
        """A piece by its number.

        Raises:
            OutOfRangeError: no piece has that number.
        """
        if not 0 <= number < len(self.vocabulary.texts):
            raise OutOfRangeError(
                f"Invalid id: {number}; the model has {len(self.vocabulary.texts)} pieces"
            )
        return self.vocabulary.texts[number]

    def joined(self, pieces: Sequence[bytes], ends: Ends) -> bytes:
        """The text that the pieces spell."""
        placed = [Piece(one, self.vocabulary.number(one), 0, 0) for one in pieces]
        text = bytearray()
        waiting = bytearray()
        for piece in self._ended(placed, ends):
            if self.vocabulary.is_byte(piece.number):
                waiting.append(BYTES[piece.text])
                continue
            text += _valid(waiting)
            waiting.clear()
            text += self._said(piece, is_first=not text)
        text += _valid(waiting)
        found = bytes(text)
        return self._denormalizer.normalized(found)[0] if self._denormalizer else found

    def _said(self, piece: Piece, *, is_first: bool) -> bytes:
        """The bytes that a piece adds to a text."""
        if self.vocabulary.is_control(piece.number):
            return b""
        text = piece.text
        if piece.number == self.vocabulary.unknown:
            is_own = text == self.vocabulary.texts[piece.number]
            return self._surface if is_own else text
        if is_first and (self._rules.add_dummy_prefix or self._rules.remove_extra_whitespaces):
            text = text.removeprefix(SPACE)
        return text.replace(SPACE, b" ")


def _valid(found: Iterable[int]) -> bytes:
    """The bytes as UTF-8, with U+FFFD for each invalid byte."""
    data, out, at = bytes(found), bytearray(), 0
    while at < len(data):
        for size in (1, 2, 3, 4):
            try:
                data[at : at + size].decode()
            except UnicodeDecodeError:
                continue
            out += data[at : at + size]
            at += size
            break
        else:
            out += _INVALID
            at += 1
    return bytes(out)
