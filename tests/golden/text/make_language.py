"""Writes language.json.gz beside it: results of other ops of TensorFlow Text; and language.zip: a
SavedModel with the ops of TensorFlow Serving's own test of TensorFlow Text.

Run with a Python that has tensorflow 2.21 and tensorflow-text 2.21.1 (`make text` does), after
make_pieces.py, whose models it takes.
"""

import gzip
import json
import random
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_text as text
from tensorflow.python.framework import load_library

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

OPS = Path(text.__file__).parent / "python" / "ops"


def library(name: str, folder: Path = OPS) -> Any:
    return load_library.load_op_library(str(folder / f"_{name}.so"))


def plain(found: Any) -> Any:
    """Nested lists; bytes as text with one character for each byte."""
    if isinstance(found, dict):
        return {key: plain(one) for key, one in found.items()}
    if isinstance(found, (list, tuple)):
        return [plain(one) for one in found]
    if isinstance(found, bytes):
        return found.decode("latin-1")
    if hasattr(found, "numpy"):
        return plain(found.numpy())
    if isinstance(found, (np.ndarray, np.generic)):
        return plain(found.tolist())
    return found


def overlaps() -> list[Any]:
    rng, found = random.Random(1), []
    op = library("text_similarity_metric_ops", OPS.parent / "metrics").rouge_l
    for alpha in (0.5, 0.2, 1.0, 0.0, -1.0):
        rows = [
            [[rng.choice("abcde").encode() for _ in range(rng.randrange(9))] for _ in range(25)]
            for _ in range(2)
        ]
        hypotheses, references = (tf.ragged.constant(one, tf.string, 1) for one in rows)
        given = [hypotheses.values, hypotheses.row_splits]
        given += [references.values, references.row_splits, alpha]
        found.append({"given": plain(given), "found": plain(op(*given))})
    return found


def trees() -> list[Any]:
    rng, op, found = np.random.default_rng(2), library("mst_ops").max_spanning_tree, []
    for dtype in ("int32", "float32", "float64"):
        for forest in (False, True):
            scores = rng.integers(-6, 7, (30, 7, 7)).astype(dtype)
            if dtype != "int32":
                scores += rng.random(scores.shape).astype(dtype)
                # Missing arcs; enough remain for a tree.
                gone = rng.random(scores.shape) < 0.2
                gone[:, 0, :], gone[:, :, 0] = False, False
                scores[gone] = -np.inf
            counts = rng.integers(1, 8, 30).astype(np.int32)
            answer = op(counts, scores, forest=forest)
            case = {"dtype": dtype, "forest": forest, "counts": plain(counts)}
            shown = plain(np.where(np.isfinite(scores), scores, -1e300 if dtype != "int32" else 0))
            found.append({**case, "scores": shown, "found": plain(answer)})
    return found


def sequences() -> list[Any]:
    rng, op, found = np.random.default_rng(3), library("constrained_sequence_op"), []
    for index in range(64):
        viterbi, logs, ends, tables = (bool(index & 1 << bit) for bit in range(4))
        states = int(rng.integers(1, 5))
        scores = rng.random((4, 6, states)).astype(np.float32) * 4
        if index >= 48:
            scores = np.round(scores)  # equal ones
        lengths = rng.integers(0, 7, 4)
        size = states + ends
        allowed = rng.random((size, size)) < 0.7
        weights = (rng.random((size, size)) * 2 - logs).astype(np.float32)
        given = {
            "scores": scores,
            "sequence_lengths": lengths,
            "allowed_transitions": allowed if tables or index >= 32 else np.zeros((0, 0), np.bool_),
            "transition_weights": weights if tables else np.zeros((0, 0), np.float32),
        }
        options = {"use_viterbi": viterbi, "use_log_space": logs, "use_start_and_end_states": ends}
        answer = op.constrained_sequence(**given, **options, Tsplits=tf.int64)
        found.append({"given": plain(given), "options": options, "found": plain(answer)})
    return found


def labelled() -> list[Any]:
    rng, op, found = random.Random(4), library("split_merge_tokenizer"), []
    for force in (True, False):
        texts = [
            "".join(
                rng.choices(["a", "b", " ", "é", "日", "\u3000", "\t", "!"], k=rng.randrange(9))
            )
            for _ in range(40)
        ]
        labels = [[rng.randrange(2) for _ in range(len(one) + rng.randrange(2))] for one in texts]
        ragged = tf.ragged.constant(labels, tf.int32, 1)
        given = [texts, ragged.values, tf.cast(ragged.row_splits, tf.int32)]
        answer = op.split_merge_tokenize_with_offsets(*given, force_split_at_break_character=force)
        asked = plain([[one.encode() for one in texts], *given[1:]])
        found.append({"force": force, "given": asked, "found": plain(answer)})
    return found


def scripts() -> dict[str, Any]:
    """Random texts; and for every code point whether it forms one word with a letter."""
    rng, op = random.Random(5), library("unicode_script_tokenizer")
    letters = "ab \t,.日本かテ éбпαß\u0301\u200d\u0663\u0627\u0000\U0001f600\u3000"
    rows = [[ord(one) for one in rng.choices(letters, k=rng.randrange(12))] for _ in range(60)]
    rows.append([-1, 97, 0x110000, 98])
    ragged = tf.ragged.constant(rows, tf.int32, 1)
    answers = {
        str(keeps): plain(
            op.unicode_script_tokenize_with_offsets(
                ragged.values, ragged.row_splits, keep_whitespace=keeps
            )
        )
        for keeps in (False, True)
    }
    codes = np.arange(0x110000, dtype=np.int32)
    splits = np.array([0, len(codes)], np.int64)
    every = op.unicode_script_tokenize_with_offsets(codes, splits, keep_whitespace=True)
    return {"rows": rows, "found": answers, "starts": plain(every[2])}


def fragments() -> dict[str, Any]:
    """Random texts; and for each character whether it ends, opens or closes a fragment."""
    rng, op = random.Random(6), library("sentence_breaking_ops").sentence_fragments
    words = [
        "a",
        "word",
        ".",
        "!",
        "?",
        "...",
        "\u2026",
        "(",
        ")",
        "[",
        "]",
        '"',
        "''",
        "U.S.",
        ":)",
    ]
    words += ["\u3002", "<", ">", "Mr.", "\ufd3f", "é", "\u0589"]
    rows = [[rng.choice(words) for _ in range(rng.randrange(14))] for _ in range(300)]
    kinds = [
        [
            {"U.S.": 0x100, ":)": 0x80}.get(word, 0) | rng.choice([0, 0, 0, 0, 0, 0x100, 0x80])
            for word in row
        ]
        for row in rows
    ]

    def ask(texts: list[list[str]], properties: list[list[int]] | None = None) -> Any:
        flat = [word for row in texts for word in row]
        zeros = np.zeros(len(flat), np.int64)
        told = zeros if properties is None else np.array([x for r in properties for x in r])
        lengths = [len(row) for row in texts]
        return op(lengths, zeros, zeros, flat, told, input_encoding="UTF-8")

    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    found: dict[str, Any] = {"rows": rows, "properties": kinds, "found": plain(ask(rows, kinds))}
    for name, bit, before, after in (
        ("ends", 1, ["a"], []),
        ("closes", 4, ["a", "."], []),
        ("opens", 8, [], ["a", ".", ")"]),
    ):
        answer = ask([[*before, chr(code), *after] for code in codes])
        starts = np.cumsum([0, *answer[4].numpy()])[:-1]
        is_so = answer[2].numpy()[starts] & bit != 0
        found[name] = [code for code, one in zip(codes, is_so, strict=True) if one]
    return found


class Module(tf.Module):  # type: ignore[misc]
    """The model of TensorFlow Serving's test: y = x + 1, after many of TensorFlow Text's ops.

    Their results are outputs of a second signature.
    """

    def __init__(self, model: bytes) -> None:
        self.pieces = text.SentencepieceTokenizer(model)
        words = tf.lookup.KeyValueTensorInitializer(["i"], [1], tf.string, tf.int64)
        self.table = tf.lookup.StaticHashTable(words, -1)

    def answers(self) -> dict[str, Any]:
        scores = np.float32([[[9, 12, 6, 4], [13, 12, 11, 10]]] * 2)
        weights = np.float32([[-1, 1, -2, 2, 0], [3, -3, 4, -4, 0], [5, 1, 10, 1, 1]])
        weights = np.concatenate([weights, np.float32([[-7, 7, -8, 8, 0], [0, 1, 2, 3, 0]])])
        states = text.viterbi_constrained_sequence(
            scores,
            [2, 2],
            allowed_transitions=np.ones((5, 5), np.bool_),
            transition_weights=weights,
            use_log_space=True,
            use_start_and_end_states=True,
        )
        tree, _ = text.max_spanning_tree([3], [[[0, 1, 5], [4, 0, 2], [1, 6, 3]]])
        folded = text.normalize_utf8(text.case_fold_utf8(["Ein Wort"]))
        split = text.regex_split(input=["two words"], delim_regex_pattern=r"\s")
        first = tf.ragged.constant([["the", "old", "ship", "sails"]])
        second = tf.ragged.constant([["the", "ship", "of", "old", "sails"]])
        rouge, _, _ = text.metrics.rouge_l(first, second)
        words = [["The", "U.S.", "!", "Then"], ["no", "end"]]
        kinds = tf.ragged.constant([[0, 256, 0, 0], [0, 0]], dtype=tf.int64)
        numbers = tf.ragged.constant([[0, 1, 2, 3], [0, 1]], dtype=tf.int64)
        starts, _, _, _ = text.sentence_fragments(
            tf.ragged.constant(words), numbers, numbers + 1, kinds
        )
        pieces = self.pieces.detokenize(self.pieces.tokenize(["the water of the place"]))
        cut, _, _ = self.pieces.tokenize_with_offsets(pieces)
        merged = text.SplitMergeTokenizer().tokenize(b"twowords!", [0, 1, 1, 0, 1, 1, 1, 1, 0])
        return {
            "states": states.flat_values,
            "tree": tree,
            "folded": folded,
            "split": split.flat_values,
            "rouge": rouge,
            "starts": starts.flat_values,
            "pieces": cut.flat_values,
            "size": self.pieces.vocab_size(),
            "name": self.pieces.id_to_string(1),
            "merged": merged,
            "scripts": text.UnicodeScriptTokenizer().tokenize(["a 日本 string"]).flat_values,
            "spaces": text.WhitespaceTokenizer().tokenize(["a string"]).flat_values,
            "known": text.WordpieceTokenizer(self.table).tokenize(["i am"]).flat_values,
            "shapes": text.wordshape(["a-b", "ab"], text.WordShape.HAS_PUNCTUATION_DASH),
        }

    @tf.function(input_signature=[tf.TensorSpec([1], tf.float32, "x")])
    def __call__(self, x: Any) -> Any:
        with tf.control_dependencies(list(self.answers().values())):
            return {"y": tf.add(x, [1])}

    @tf.function(input_signature=[])
    def tell(self) -> Any:
        return self.answers()


def saved() -> dict[str, Any]:
    with zipfile.ZipFile(HERE / "pieces.zip") as archive:
        module = Module(archive.read("suffixes"))
    signatures = {"serving_default": module.__call__, "tell": module.tell}
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=signatures)
        with zipfile.ZipFile(HERE / "language.zip", "w") as archive:
            for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(file.relative_to(folder).as_posix())
                entry.compress_type = zipfile.ZIP_LZMA
                archive.writestr(entry, file.read_bytes())
    return plain(module.tell())


content = {
    "overlaps": overlaps(),
    "trees": trees(),
    "sequences": sequences(),
    "labelled": labelled(),
    "scripts": scripts(),
    "fragments": fragments(),
    "saved": saved(),
}
data = json.dumps(content, sort_keys=True).encode()
(HERE / "language.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
for name in ("language.json.gz", "language.zip"):
    record(f"text/{name}", script="text/make_language.py", made_with="tensorflow-text 2.21.1")
