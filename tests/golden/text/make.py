"""Writes text.json.gz beside it: results of TensorFlow Text's ops.

Run with a Python that has tensorflow 2.21 and tensorflow-text 2.21.1 (`make text` does).
"""

import gzip
import json
import random
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_text as text
from tensorflow.python.framework import load_library

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

OPS = Path(text.__file__).parent / "python" / "ops"
VOCABULARY = ["##a", "ab", "##c", "x", "abc", "é", "##é", "日", "##本", "a", "##bc"]


def library(name: str) -> Any:
    return load_library.load_op_library(str(OPS / f"_{name}.so"))


def plain(found: Any) -> Any:
    """Nested lists; bytes as text with one character for each byte."""
    if isinstance(found, (list, tuple)):
        return [plain(one) for one in found]
    if isinstance(found, bytes):
        return found.decode("latin-1")
    if hasattr(found, "numpy"):
        return plain(found.numpy().tolist())
    return found


def texts() -> list[bytes]:
    rng = random.Random(7)
    letters = [
        "a",
        "b",
        "c",
        "x",
        " ",
        "\t",
        ",",
        ".",
        "é",
        "日",
        "本",
        "\u3000",
        "\u00a0",
        "E\u0301",
    ]
    drawn = ["".join(rng.choices(letters, k=rng.randrange(9))).encode() for _ in range(60)]
    return [*drawn, b"", b"a\xff b", b"\xff", b"abcabcabcabc", "ﬁ²ẛ̣ ÀßΣς İI\u0131ǅ".encode()]


def normalized(ops: Any, every: list[bytes]) -> dict[str, Any]:
    found = {
        form: ops.normalize_utf8(every, normalization_form=form)
        for form in ("NFC", "NFD", "NFKC", "nfkd")
    }
    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    folded = ops.case_fold_utf8([chr(code).encode() for code in codes]).numpy().tolist()
    changed = {
        code: new.decode()
        for code, new in zip(codes, folded, strict=True)
        if new != chr(code).encode()
    }
    return {
        "forms": plain_values(found),
        "folded": plain(ops.case_fold_utf8(every)),
        "changed": changed,
    }


def plain_values(found: dict[str, Any]) -> dict[str, Any]:
    return {key: plain(value) for key, value in found.items()}


def split(ops: Any, every: list[bytes]) -> list[Any]:
    patterns = [
        (r"(\s+)", ""),
        (r"(\s+|[,.])", "([,.])"),
        ("([,.])", "([,.])"),
        (r"\s", ""),
        (r"(\p{P})", r"(\p{P})"),
        (r"(\s+|[!-/]|[:-@]|\p{P}|[\x{4E00}-\x{9FFF}])", r"([!-/]|\p{P}|[\x{4E00}-\x{9FFF}])"),
    ]
    return [
        {"delim": cut, "keep": keep, "found": plain(ops.regex_split_with_offsets(every, cut, keep))}
        for cut, keep in patterns
    ]


def pieces(ops: Any, every: list[bytes]) -> list[Any]:
    numbers = tf.range(len(VOCABULARY), dtype=tf.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(VOCABULARY, numbers), -1)
    usual = {
        "suffix_indicator": "##",
        "max_bytes_per_word": 10,
        "use_unknown_token": True,
        "unknown_token": "[UNK]",
    }
    others: list[dict[str, Any]] = [
        {},
        {"use_unknown_token": False},
        {"split_unknown_characters": True},
        {"split_unknown_characters": True, "use_unknown_token": False},
        *({"max_chars_per_token": n} for n in (1, 2, 3)),
        {"output_row_partition_type": "row_splits"},
    ]
    return [
        {
            "attrs": {**usual, **other},
            "found": plain(
                ops.wordpiece_tokenize_with_offsets(
                    every, table.resource_handle, **{**usual, **other}
                )
            ),
        }
        for other in others
    ]


def spaced(every: list[bytes]) -> dict[str, Any]:
    tokenizer = text.WhitespaceTokenizer()
    rows = tokenizer.tokenize_with_offsets(every)
    found = [rows[0].values, rows[0].row_splits, rows[1].values, rows[2].values]
    return {"config": plain(tokenizer._config), "found": plain(found)}


def trimmed(trimmer: Any) -> list[Any]:
    """Up to three segments of up to four rows; limits that are too small, exact and too large."""
    rng, found = random.Random(3), []
    for _ in range(40):
        count, rows = rng.randrange(1, 4), rng.randrange(0, 4)
        segments = [[list(range(rng.randrange(6))) for _ in range(rows)] for _ in range(count)]
        ragged = [tf.ragged.constant(one, tf.int32, 1) for one in segments]
        values, splits = (
            [getattr(one, name) for one in ragged] for name in ("values", "row_splits")
        )
        given = {"max_sequence_length": rng.randrange(10)}
        given |= {"input_values": values, "input_row_splits": splits}
        both = trimmer.tf_text_round_robin_trim(**given)
        masks = trimmer.tf_text_round_robin_generate_masks(**given)
        found.append({"given": plain_values(given), "found": plain([*both, masks])})
    return found


def tokenizer_model() -> None:
    """A SavedModel of a tokenizer, with two segments trimmed and packed, and its results."""
    vocabulary = HERE / "vocabulary.txt"
    words = "[PAD] [UNK] [CLS] [SEP] the qui ##ck brown fox jump ##ed over dog . ! 日 本 cafe ##s"
    vocabulary.write_text("\n".join(words.split()))

    class Model(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.tokenizer = text.BertTokenizer(str(vocabulary), lower_case=True)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "x")])
        def __call__(self, x: Any) -> Any:
            pieces = self.tokenizer.tokenize(x).merge_dims(-2, -1)
            kept = text.RoundRobinTrimmer(8).trim([pieces, pieces[:, :2]])
            ids, types = text.combine_segments(kept, 2, 3)
            packed, mask = text.pad_model_inputs(ids, 12)
            return {"ids": packed, "mask": mask, "types": types.to_tensor()}

    model = Model()
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(model, folder, signatures=model.__call__)
        with zipfile.ZipFile(HERE / "tokenizer.zip", "w") as archive:
            for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(file.relative_to(folder).as_posix())
                entry.compress_type = zipfile.ZIP_LZMA
                archive.writestr(entry, file.read_bytes())
    vocabulary.unlink()
    asked = ["The quick brown Foxes jumped!", "Café 日本 dogs.", "", "THE the thequick"]
    answer = {"asked": asked, "found": plain_values(model(tf.constant(asked)))}
    (HERE / "tokenizer.json").write_text(json.dumps(answer, sort_keys=True) + "\n")


EVERY = texts()
content = {
    "texts": plain(EVERY),
    "vocabulary": VOCABULARY,
    "normalization": normalized(library("normalize_ops"), EVERY),
    "regex": split(library("regex_split_ops"), EVERY),
    "wordpieces": pieces(library("wordpiece_tokenizer"), EVERY),
    "trimmed": trimmed(library("trimmer_ops")),
    "whitespace": spaced(EVERY),
}
data = json.dumps(content, sort_keys=True).encode()
(HERE / "text.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
tokenizer_model()
for name in ("text.json.gz", "tokenizer.zip", "tokenizer.json"):
    record(f"text/{name}", script="text/make.py", made_with="tensorflow-text 2.21.1")
