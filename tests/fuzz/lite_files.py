"""LiteRT files: the parts that an interpreter runs, and their metadata and associated files."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import struct
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz.lite_tables import as_table, change_table
from fuzz.mutations import damaged
from fuzz.target import Target
from pinnace.deploy.cli.show_metadata import metadata_json, print_metadata
from pinnace.deploy.cli.terminal import Terminal
from pinnace.deploy.lite.files.flatbuffer import Table, written
from pinnace.deploy.lite.files.parsing import parsed
from pinnace.deploy.lite.files.rewriting import rewritten
from pinnace.deploy.lite.metadata.document import encoded
from pinnace.deploy.lite.metadata.keeping import keep, kept_in
from pinnace.deploy.lite.metadata.making import Known, metadata_of, told_by
from pinnace.deploy.lite.metadata.packing import BUFFER, check_readable, packed, unpacked
from pinnace.deploy.lite.reading.saving import functions_of
from pinnace.deploy.program.sources import find_program
from pinnace.engine.build import plan_of
from pinnace.framework.specs import TensorSpec
from pinnace.functions.function import function
from pinnace.proto.lite_schema import METADATA

if TYPE_CHECKING:
    import random

    from pinnace.framework.tensor import Tensor

LITE = Path(__file__).parents[1] / "golden" / "lite"


class LiteFiles(Target):
    """LiteRT files: their bytes, and numbers in valid tables."""

    weight = 4

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._data = [path.read_bytes() for path in sorted(LITE.glob("*.tflite"))]
        self._damaged = b""

    def damage(self, draw: random.Random) -> int:
        data = draw.choice(self._data)
        if draw.random() < 0.5:
            self._damaged = damaged(draw, data, draw.choice(self._data))
        else:
            root = as_table(parsed(data, "the file"))
            for _ in range(draw.randint(1, 3)):
                change_table(draw, root)
            self._damaged = written(root, 2 * len(data))
        return len(self._damaged)

    def use(self) -> None:
        for one in functions_of(self._damaged, "the file")[0].values():
            plan_of(one.graph)


# Together they have every kind of field, used as the schema's comments describe.
_IMAGE = {
    "name": "image",
    "description": "A picture of a pet.",
    "dimension_names": ["batch", "height", "width", "channels"],
    "content": {
        "content_properties_type": "ImageProperties",
        "content_properties": {
            "color_space": "RGB",
            "default_size": {"width": 8, "height": 8},
        },
        "range": {"min": 1, "max": 3},
    },
    "process_units": [
        {
            "options_type": "NormalizationOptions",
            "options": {"mean": [127.5, 127.0, 126.5], "std": [128.0, 128.0, 128.0]},
        },
        {
            "options_type": "BertTokenizerOptions",
            "options": {"vocab_file": [{"name": "vocab.txt", "type": "VOCABULARY"}]},
        },
    ],
    "stats": {"max": [1.0], "min": [-1.0]},
}
_SCORES = {
    "name": "scores",
    "content": {"content_properties_type": "FeatureProperties", "content_properties": {}},
    "process_units": [
        {
            "options_type": "ScoreCalibrationOptions",
            "options": {"score_transformation": "LOG", "default_score": 0.5},
        },
        {
            "options_type": "ScoreThresholdingOptions",
            "options": {"global_score_threshold": 0.25},
        },
        {
            "options_type": "SentencePieceTokenizerOptions",
            "options": {"sentencePiece_model": [{"name": "pieces.model"}]},
        },
        {
            "options_type": "RegexTokenizerOptions",
            "options": {"delim_regex_pattern": "[ ]", "vocab_file": [{"name": "vocab.txt"}]},
        },
    ],
    "associated_files": [
        {"name": "labels.txt", "type": "TENSOR_AXIS_LABELS", "locale": "en", "version": "1"},
        {"name": "scores.csv", "type": "TENSOR_AXIS_SCORE_CALIBRATION"},
    ],
}
_BOXES = {
    "name": "boxes",
    "content": {
        "content_properties_type": "BoundingBoxProperties",
        "content_properties": {
            "index": [1, 0, 3, 2],
            "type": "BOUNDARIES",
            "coordinate_type": "RATIO",
        },
    },
}
_SOUND = {
    "name": "sound",
    "content": {
        "content_properties_type": "AudioProperties",
        "content_properties": {"sample_rate": 16000, "channels": 1},
    },
}
_DOCUMENT = {
    "name": "Pets",
    "description": "Tells pets apart.",
    "version": "2",
    "author": "somebody",
    "license": "Apache License 2.0",
    "associated_files": [{"name": "notes.txt", "type": "DESCRIPTIONS", "description": "more"}],
    "subgraph_metadata": [
        {
            "name": "pets",
            "input_tensor_metadata": [_IMAGE, _SOUND],
            "output_tensor_metadata": [_SCORES, _BOXES],
            "input_tensor_groups": [{"name": "all", "tensor_names": ["image", "sound"]}],
            "custom_metadata": [{"name": "own", "data": [1, 2, 3]}],
        }
    ],
}
_FILES = {
    "labels.txt": b"cat\ndog\nmouse\n",
    "scores.csv": b"0.1,0.2\n" * 3,
    "vocab.txt": b"[PAD]\nword\n",
    "pieces.model": bytes(range(256)),
    "notes.txt": b"no notes\n" * 20,
}
_NAMES = ("", ".", "../out", "/out", "a\\b", "x\0y", "y" * 300, "labels.txt", "ä", "out/")
_ZEROS = bytes(48 << 20)
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_ENTRY, _ENTRY_SIZE = b"PK\1\2", 46
_MANY = 150_000
_END, _END_SIZE = b"PK\5\6", 22
_ODD = (0, 1, 2, 8, 12, 14, 0x7F, 0x80, 0xFF)


class LiteMetadata(Target):
    """Metadata of LiteRT files: their bytes, their tables, and the archive at the end of the file.

    It is read, saved beside a SavedModel, printed, and written into another file.
    """

    weight = 3

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._plain = (LITE / "dense.tflite").read_bytes()
        self._told = encoded(_DOCUMENT)
        self._model = self._with(self._told)
        self._bombs = {kind: _archive({"labels.txt": _ZEROS}, kind) for kind in _PACKED[1:]}
        self._many = _with_many_entries(_archive({"labels.txt": b"cat"}, zipfile.ZIP_STORED))
        specs = [TensorSpec([1, 8, 8, 3], name="image"), TensorSpec([1, 5], name="sound")]

        def both(image: Tensor, sound: Tensor) -> dict[str, Tensor]:
            return {"boxes": image[:, 0, 0], "scores": sound}

        made: Any = function(both, autograph=False)
        self._program = find_program(made.get_concrete_function(*specs), "serving_default")
        self._damaged = b""

    def _with(self, told: bytes) -> bytes:
        """A file with these bytes as its metadata."""

        def change(model: dict[str, Any]) -> None:
            buffers = list(model["buffers"])
            model["metadata"] = [Table("Metadata", {"name": BUFFER, "buffer": len(buffers)})]
            model["buffers"] = [*buffers, Table("Buffer", {"data": told})]

        return rewritten(self._plain, "the file", change)

    def damage(self, draw: random.Random) -> int:
        model, files = self._model, _archive(_FILES, draw.choice(_PACKED[:2]))
        kind = draw.randrange(6)
        if kind == 0:
            model = damaged(draw, model, files)
        elif kind == 1:
            model = self._with(damaged(draw, self._told, self._told))
        elif kind == 2:
            root = as_table(parsed(self._told, "it", METADATA))
            for _ in range(draw.randint(1, 3)):
                change_table(draw, root, METADATA)
            model = self._with(written(root, 2 * len(self._told), METADATA))
        elif kind == 3:
            files = damaged(draw, files, model)
        elif kind == 4:
            files = _with_other_entry(draw, files)
        else:
            model, files = self._with_other_members(draw)
        self._damaged = model + files
        return len(self._damaged)

    def _with_other_members(self, draw: random.Random) -> tuple[bytes, bytes]:
        """Names that lead outside, files that are compressed a thousandfold or by other methods."""
        kind = draw.choice(_PACKED)
        if draw.random() < 0.1:
            return self._model, self._bombs.get(kind, self._many)
        name = draw.choice(_NAMES)
        files = {one: data for one, data in _FILES.items() if draw.random() < 0.7}
        files[name] = draw.randbytes(draw.randrange(40))
        told = {**_DOCUMENT, "associated_files": [{"name": name}, {"name": "labels.txt"}]}
        return self._with(encoded(told)), _archive(files, kind)

    def use(self) -> None:
        metadata = unpacked(self._damaged, "the file")
        if metadata is None:
            return
        folder = self.folder / "model"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        program = self._program
        keep(folder, metadata, list(program.inputs), list(program.outputs))
        if {one.name for one in self.folder.iterdir()} != {"model"}:
            raise AssertionError("a file was written elsewhere")
        kept = kept_in(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            print_metadata(Terminal(plain=True), kept)
        again = metadata_of([program], Known(kept=kept))
        if kept is None or again is None:
            raise AssertionError("what was kept is not there")
        json.dumps(metadata_json(kept))
        told_by(again, program)
        check_readable(packed(self._plain, again), again)


def _archive(files: dict[str, bytes], kind: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", kind) as file:
        for name, data in files.items():
            file.writestr(name or "unnamed", data)
    return content.getvalue()


def _with_many_entries(archive: bytes) -> bytes:
    """One member, listed so often that all copies exceed the memory."""
    start, end = archive.index(_ENTRY), archive.index(_END)
    entries = archive[start:end] * _MANY
    close = bytearray(archive[end:])
    struct.pack_into("<I", close, 12, len(entries))
    return archive[:start] + entries + close


def _with_other_entry(draw: random.Random, archive: bytes) -> bytes:
    """A file with another number in the archive's directory, or in its end record."""
    content = bytearray(archive)
    mark, size = draw.choice(((_ENTRY, _ENTRY_SIZE), (_ENTRY, _ENTRY_SIZE), (_END, _END_SIZE)))
    places = [at for at in range(len(content)) if content.startswith(mark, at)]
    for _ in range(draw.randint(1, 3)):
        at = draw.choice(places) + draw.randrange(4, size - 1)
        number = draw.choice(_ODD)
        if draw.random() < 0.5 and at % 2 == 0:
            struct.pack_into("<H", content, at, number)
        else:
            content[at] = number
    return bytes(content)
