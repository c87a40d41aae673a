from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PieceModel(_message.Message):
    __slots__ = ("pieces", "trainer_spec", "normalizer_spec", "denormalizer_spec")
    class Piece(_message.Message):
        __slots__ = ("piece", "score", "type")
        class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
            __slots__ = ()
            NORMAL: _ClassVar[PieceModel.Piece.Type]
            UNKNOWN: _ClassVar[PieceModel.Piece.Type]
            CONTROL: _ClassVar[PieceModel.Piece.Type]
            USER_DEFINED: _ClassVar[PieceModel.Piece.Type]
            UNUSED: _ClassVar[PieceModel.Piece.Type]
            BYTE: _ClassVar[PieceModel.Piece.Type]
        NORMAL: PieceModel.Piece.Type
        UNKNOWN: PieceModel.Piece.Type
        CONTROL: PieceModel.Piece.Type
        USER_DEFINED: PieceModel.Piece.Type
        UNUSED: PieceModel.Piece.Type
        BYTE: PieceModel.Piece.Type
        PIECE_FIELD_NUMBER: _ClassVar[int]
        SCORE_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        piece: bytes
        score: float
        type: PieceModel.Piece.Type
        def __init__(self, piece: _Optional[bytes] = ..., score: _Optional[float] = ..., type: _Optional[_Union[PieceModel.Piece.Type, str]] = ...) -> None: ...
    PIECES_FIELD_NUMBER: _ClassVar[int]
    TRAINER_SPEC_FIELD_NUMBER: _ClassVar[int]
    NORMALIZER_SPEC_FIELD_NUMBER: _ClassVar[int]
    DENORMALIZER_SPEC_FIELD_NUMBER: _ClassVar[int]
    pieces: _containers.RepeatedCompositeFieldContainer[PieceModel.Piece]
    trainer_spec: PieceTraining
    normalizer_spec: PieceNormalization
    denormalizer_spec: PieceNormalization
    def __init__(self, pieces: _Optional[_Iterable[_Union[PieceModel.Piece, _Mapping[str, object]]]] = ..., trainer_spec: _Optional[_Union[PieceTraining, _Mapping[str, object]]] = ..., normalizer_spec: _Optional[_Union[PieceNormalization, _Mapping[str, object]]] = ..., denormalizer_spec: _Optional[_Union[PieceNormalization, _Mapping[str, object]]] = ...) -> None: ...

class PieceTraining(_message.Message):
    __slots__ = ("model_type", "treat_whitespace_as_suffix", "byte_fallback", "unk_surface", "unk_piece", "bos_piece", "eos_piece")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNIGRAM: _ClassVar[PieceTraining.Kind]
        BPE: _ClassVar[PieceTraining.Kind]
        WORD: _ClassVar[PieceTraining.Kind]
        CHAR: _ClassVar[PieceTraining.Kind]
    UNIGRAM: PieceTraining.Kind
    BPE: PieceTraining.Kind
    WORD: PieceTraining.Kind
    CHAR: PieceTraining.Kind
    MODEL_TYPE_FIELD_NUMBER: _ClassVar[int]
    TREAT_WHITESPACE_AS_SUFFIX_FIELD_NUMBER: _ClassVar[int]
    BYTE_FALLBACK_FIELD_NUMBER: _ClassVar[int]
    UNK_SURFACE_FIELD_NUMBER: _ClassVar[int]
    UNK_PIECE_FIELD_NUMBER: _ClassVar[int]
    BOS_PIECE_FIELD_NUMBER: _ClassVar[int]
    EOS_PIECE_FIELD_NUMBER: _ClassVar[int]
    model_type: PieceTraining.Kind
    treat_whitespace_as_suffix: bool
    byte_fallback: bool
    unk_surface: bytes
    unk_piece: bytes
    bos_piece: bytes
    eos_piece: bytes
    def __init__(self, model_type: _Optional[_Union[PieceTraining.Kind, str]] = ..., treat_whitespace_as_suffix: bool = ..., byte_fallback: bool = ..., unk_surface: _Optional[bytes] = ..., unk_piece: _Optional[bytes] = ..., bos_piece: _Optional[bytes] = ..., eos_piece: _Optional[bytes] = ...) -> None: ...

class PieceNormalization(_message.Message):
    __slots__ = ("precompiled_charsmap", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    PRECOMPILED_CHARSMAP_FIELD_NUMBER: _ClassVar[int]
    ADD_DUMMY_PREFIX_FIELD_NUMBER: _ClassVar[int]
    REMOVE_EXTRA_WHITESPACES_FIELD_NUMBER: _ClassVar[int]
    ESCAPE_WHITESPACES_FIELD_NUMBER: _ClassVar[int]
    precompiled_charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool
    escape_whitespaces: bool
    def __init__(self, precompiled_charsmap: _Optional[bytes] = ..., add_dummy_prefix: bool = ..., remove_extra_whitespaces: bool = ..., escape_whitespaces: bool = ...) -> None: ...
