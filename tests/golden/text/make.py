"""Writes text.json.gz beside it: what TensorFlow Text's ops give.

Run with a Python that has tensorflow 2.21 and tensorflow-text 2.21.1 (`make text` does).
"""

import gzip
import json
import random
import sys
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
    """Nested lists; bytes as text of which each character is a byte."""
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


EVERY = texts()
content = {
    "texts": plain(EVERY),
    "vocabulary": VOCABULARY,
    "normalization": normalized(library("normalize_ops"), EVERY),
    "regex": split(library("regex_split_ops"), EVERY),
    "wordpieces": pieces(library("wordpiece_tokenizer"), EVERY),
    "whitespace": spaced(EVERY),
}
data = json.dumps(content, sort_keys=True).encode()
(HERE / "text.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
record("text/text.json.gz", script="text/make.py", made_with="tensorflow-text 2.21.1")
