"""Functions of strings with numeric results that use every step of a tokenizer."""

from collections.abc import Callable
from typing import Any

import pinnace as tf
from pinnace.framework.specs import TensorSpec
from pinnace.functions.concrete import ConcreteFunction

WORDS = ["a", "the", "größer", "x y", "中文", "Ab"]


def number(text: Any) -> Any:
    """A number for each string, equal for equal strings."""
    return tf.strings.to_hash_bucket_fast(text, 1 << 50)


def _table(values: list[Any], dtype: str = "int64") -> Any:
    """Words to numbers."""
    start = tf.lookup.KeyValueTensorInitializer(tf.constant(WORDS), tf.constant(values, dtype))
    return tf.lookup.StaticHashTable(start, tf.constant(1, dtype))


RISING = _table(list(range(2, 2 + len(WORDS))))
LARGE = _table([7, -1, 1 << 60, 3, 3, 0])
FLOATS = _table([0.5, -1.0, 3.25, 1e9, 0.0, 2.0], "float32")
BUCKETS = tf.lookup.StaticVocabularyTable(
    tf.lookup.KeyValueTensorInitializer(
        tf.constant(WORDS), tf.constant(list(range(len(WORDS))), "int64")
    ),
    5,
)


def cases(x: Any) -> dict[str, Any]:
    return {
        "lower": number(tf.strings.lower(x)),
        "upper": number(tf.strings.upper(x)),
        "lower_all": number(tf.strings.lower(x, encoding="utf-8")),
        "upper_all": number(tf.strings.upper(x, encoding="utf-8")),
    }


def parts(x: Any) -> dict[str, Any]:
    longer = tf.strings.join([x, "größe"])
    return {
        "strip": number(tf.strings.strip(x)),
        "bytes": tf.strings.length(x),
        "letters": tf.strings.length(x, unit="UTF8_CHAR"),
        "front": number(tf.strings.substr(x, 0, 3)),
        "back": number(tf.strings.substr(longer, -4, 3)),
        "front_letters": number(tf.strings.substr(longer, 2, 2, unit="UTF8_CHAR")),
        "sum": number(x + "-" + tf.strings.as_string(tf.strings.length(x))),
        "joined": number(tf.strings.reduce_join(tf.stack([x, longer], 1), 1, separator="|")),
        "all": number(tf.strings.reduce_join(x, keepdims=True)),
    }


def expressions(x: Any) -> dict[str, Any]:
    def replaced(pattern: str, rewrite: str, every: bool = True) -> Any:
        return number(tf.strings.regex_replace(x, pattern, rewrite, every))

    return {
        "punctuation": replaced(r"[!\"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']", ""),
        "words": replaced(r"(\w)(\w*)", r"<\2\1\0>"),
        "spaces": replaced(r"\s+", " ", every=False),
        "edges": replaced(r"^|$", "#"),
        "lines": replaced(r"(?m)^a|b$", "_"),
        "borders": replaced(r"\b", "|"),
        "letters": replaced(r"\p{Lu}|[[:punct:]]", r"\\"),
        "any": replaced(r"(?i)THE|sk{1,2}?", "*"),
        "nothing": replaced(r"x*", "-"),
        "numbers": number(tf.strings.regex_replace(x, r"[^\d]", "")),
        "accents": replaced("[ä-ü中]|[^\\x00-\\x{ffff}]", "o"),
        "whole": tf.strings.regex_full_match(x, r"[a-z ]+|\d*"),
        "lowercase": tf.strings.regex_full_match(x, r"(?s).*\p{Ll}."),
    }


def numbers(x: Any) -> dict[str, Any]:
    digits = tf.strings.substr(tf.strings.regex_replace(x, r"\D", ""), 0, 7)
    return {
        "integer": tf.strings.to_number(tf.strings.join(["0", digits]), "int32"),
        "long": tf.strings.to_number(tf.strings.join(["-9", digits, digits]), "int64"),
        "padded": tf.cast(tf.io.decode_raw(x, "uint8", fixed_length=6), "int32"),
    }


def hashes(x: Any) -> dict[str, Any]:
    long = tf.strings.join([x, x, "0123456789" * 7])
    return {
        "fast": tf.strings.to_hash_bucket_fast(x, 1_000_003),
        "strong": tf.strings.to_hash_bucket_strong(x, 1 << 40, [12, -7]),
        "fast_long": tf.strings.to_hash_bucket_fast(long, (1 << 62) - 1),
        "fast_middle": tf.strings.to_hash_bucket_fast(tf.strings.substr(long, 0, 40), 97),
        "strong_long": tf.strings.to_hash_bucket_strong(long, 7, [1 << 62, 3]),
    }


def split(x: Any) -> dict[str, Any]:
    words = tf.strings.split(tf.strings.lower(x))
    pieces = tf.strings.split(x, sep=",", maxsplit=2)
    return {
        "ids": words.with_flat_values(RISING.lookup(words.flat_values)).to_tensor(0),
        "five": words.with_flat_values(RISING.lookup(words.flat_values)).to_tensor(
            -1, shape=[None, 5]
        ),
        "pieces": pieces.with_flat_values(number(pieces.flat_values)).to_tensor(7),
        "lengths": words.row_lengths(),
        "bytes": number(tf.strings.bytes_split(x).to_tensor("")),
    }


def grams(x: Any) -> dict[str, Any]:
    words = tf.strings.split(x)
    found = tf.strings.ngrams(words, (1, 3), separator="_", pad_values=("<", ">"))
    short = tf.strings.ngrams(words, 4, preserve_short_sequences=True)
    return {
        "padded": found.with_flat_values(number(found.flat_values)).to_tensor(0),
        "short": short.with_flat_values(number(short.flat_values)).to_tensor(0),
    }


def letters(x: Any) -> dict[str, Any]:
    return {
        "points": tf.strings.unicode_decode(x, "UTF-8").to_tensor(-1),
        "kept": tf.strings.unicode_decode(
            x, "UTF-8", errors="ignore", replace_control_characters=True
        ).to_tensor(-1),
        "letters": number(tf.strings.unicode_split(x, "UTF-8").to_tensor("")),
        "starts": tf.strings.unicode_decode_with_offsets(x, "UTF-8")[1].to_tensor(-1),
        "clean": number(tf.strings.unicode_transcode(x, "UTF-8", "UTF-8", replacement_char=35)),
    }


def strict_letters(x: Any) -> dict[str, Any]:
    controls: dict[str, Any] = {
        "errors": "strict",
        "replace_control_characters": True,
        "replacement_char": 35,
    }
    return {"points": tf.strings.unicode_decode(x, "UTF-8", **controls).to_tensor(-1)}


def strict_clean(x: Any) -> dict[str, Any]:
    controls: dict[str, Any] = {"errors": "strict", "replace_control_characters": True}
    return {"clean": number(tf.strings.unicode_transcode(x, "UTF-8", "UTF-8", **controls))}


def tables(x: Any) -> dict[str, Any]:
    return {
        "large": LARGE.lookup(x),
        "floats": FLOATS.lookup(x),
        "buckets": BUCKETS.lookup(x),
    }


def kept(numbers: Any) -> Any:
    """Integers that only a tokenizer can compute, since strings are derived from them again."""
    return number(tf.strings.as_string(numbers))


def chosen(truths: Any) -> Any:
    return kept(tf.where(truths, 5, 6))


def arithmetic(x: Any) -> dict[str, Any]:
    size = tf.strings.length(x)
    long = tf.cast(tf.strings.length(tf.strings.strip(x)), "int64") - 3
    wide = tf.expand_dims(size, 1)
    return {
        "wrapped": kept(size * 1_500_000_001 + (1 << 30)),
        "wrapped_long": kept(long * (1 << 62) - 7),
        "divided": kept(long // 2 + long % 5),
        "negative": kept(size // -3 + size % -3),
        "bounds": kept(tf.maximum(size, 2) - tf.minimum(wide, 4)),
        "truths": chosen(
            (size > 2) & (size <= 9) | tf.logical_not(tf.cast(long, "bool")) | (x != "a")
        ),
        "orders": chosen(tf.equal(size >= 3, tf.cast(long, "int32") < size)),
        "most": kept(tf.reduce_max(size, keepdims=True)),
        "least": kept(tf.reduce_min(long)),
        "sums": kept(tf.reduce_sum(wide, 1) + tf.reduce_prod(size)),
        "any": chosen(tf.reduce_any(size > 4) | tf.reduce_all(long > 0)),
        "running": kept(tf.cumsum(size, exclusive=True, reverse=True)),
        "padded": kept(tf.pad(wide, [[1, 0], [2, 1]], constant_values=8)),
        "joined": kept(tf.concat([tf.cast(wide, "int64"), long[:, None, None][..., 0]], 1)),
        "backwards": kept(tf.stack([size, size])[::-1, 1:][-1]),
        "picked": kept(tf.gather(tf.constant([[4, 5, 6], [7, 8, 9]]), size % 3, axis=1)),
        "size": kept(tf.fill([2], tf.size(x))),
        "flat": kept(tf.squeeze(wide, 1) + tf.zeros_like(size) - tf.ones_like(size)),
    }


def counts(x: Any) -> dict[str, Any]:
    words = tf.strings.split(x)
    ids = tf.cast(RISING.lookup(words.flat_values), "int32")
    many = tf.math.bincount(ids, minlength=9, maxlength=9)
    rows = words.value_rowids()
    ones = tf.one_hot(ids, 5, dtype="float32")
    return {
        "bins": kept(many),
        "binary": kept(tf.math.bincount(ids, minlength=4, maxlength=4, binary_output=True)),
        "by_row": tf.math.unsorted_segment_sum(ones, rows, words.nrows()),
        "rows": tf.raw_ops.RaggedBincount(
            splits=words.row_splits,
            values=ids,
            size=tf.constant(6, "int32"),
            weights=tf.constant([], "int64"),
            binary_output=True,
        ),
    }


PROGRAMS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "cases": cases,
    "parts": parts,
    "expressions": expressions,
    "numbers": numbers,
    "hashes": hashes,
    "split": split,
    "grams": grams,
    "letters": letters,
    "strict_letters": strict_letters,
    "strict_clean": strict_clean,
    "tables": tables,
    "arithmetic": arithmetic,
    "counts": counts,
}


def traced(name: str) -> ConcreteFunction:
    """A program as a function of texts [n]."""
    found: ConcreteFunction = tf.function(PROGRAMS[name]).get_concrete_function(
        TensorSpec([None], "string", name="x")
    )
    return found
