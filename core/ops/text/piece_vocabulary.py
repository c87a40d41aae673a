"""The pieces of a SentencePiece model, and their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinnace.framework.errors import InternalError
from pinnace.ops.text.piece_normalization import Symbols, character_size
from pinnace.proto.piece_model_pb2 import PieceModel

if TYPE_CHECKING:
    from collections.abc import Iterator

_Type = PieceModel.Piece
_IN_TEXTS = (_Type.NORMAL, _Type.USER_DEFINED, _Type.UNUSED)
BYTES = {b"<0x%02X>" % byte: byte for byte in range(256)}


class Vocabulary:
    """The pieces of a model, with their types and scores.

    Args:
        model: the message of the file.

    Attributes:
        texts: by number.
        types: likewise.
        scores: likewise.
        pieces: the numbers of those that may stand in a text.
        normal: the numbers of those that have a score.
        unused: the numbers of those that occur only while pieces are merged.
        symbols: the numbers of the user-defined ones, which are never cut.
        unknown: the number of the piece for texts that have none.
        matcher: finds symbols.

    Raises:
        InternalError: the model is damaged.
    """

    def __init__(self, model: PieceModel) -> None:
        self.texts = [one.piece for one in model.pieces]
        self.types = [one.type for one in model.pieces]
        self.scores = [one.score for one in model.pieces]
        self.pieces: dict[bytes, int] = {}
        self._reserved: dict[bytes, int] = {}
        for number, (text, kind) in enumerate(zip(self.texts, self.types, strict=True)):
            known = self.pieces if kind in _IN_TEXTS else self._reserved
            if not text or text in known:
                _refuse(
                    f"piece {number} {'is empty' if not text else f'{text!r:.120} is there twice'}"
                )
            known[text] = number
        self.normal = self._of(_Type.NORMAL)
        self.unused, self.symbols = (
            frozenset(self._of(_Type.UNUSED)),
            frozenset(self._of(_Type.USER_DEFINED)),
        )
        unknown = self._of(_Type.UNKNOWN)
        if len(unknown) != 1:
            _refuse(f"it has {len(unknown)} unknown pieces, and has to have one")
        (self.unknown,) = unknown
        found = {self.texts[number] for number in self._of(_Type.BYTE)}
        if found != (set(BYTES) if model.trainer_spec.byte_fallback else set()):
            _refuse(f"it has pieces for {len(found & set(BYTES))} bytes")
        self.matcher = Symbols(self.texts[number] for number in self.symbols)

    def _of(self, kind: int) -> list[int]:
        return [number for number, one in enumerate(self.types) if one == kind]

    def number(self, text: bytes) -> int:
        """The id of a piece; the unknown id if it is none."""
        found = self._reserved.get(text)
        return self.pieces.get(text, self.unknown) if found is None else found

    def is_control(self, number: int) -> bool:
        """Whether it is a control piece, which no text contains."""
        return self.types[number] == _Type.CONTROL

    def is_byte(self, number: int) -> bool:
        """Whether it is a byte piece, for characters without a piece."""
        return self.types[number] == _Type.BYTE

    def characters(self, text: bytes) -> Iterator[tuple[bytes, bool]]:
        """The characters and symbols of a text, and which of them are symbols."""
        at = 0
        while at < len(text):
            size = self.matcher.size(text, at)
            whole = size or character_size(text, at)
            yield text[at : at + whole], bool(size)
            at += whole


def _refuse(what: str) -> None:
    raise InternalError(f"SentencepieceOp: the model is damaged: {what}")
