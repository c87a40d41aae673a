"""Edge cases of string ops from TensorFlow's own unit tests; see `both`.

python string_corner_programs.py tensorflow|pinnace FOLDER
"""

import importlib
import sys
from typing import Any

from reporting import report

tf: Any = importlib.import_module(sys.argv[1])
S = tf.strings


def plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, bytes):
        return x.hex()
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    if hasattr(x, "to_list"):
        return plain(x.to_list())
    found = x.numpy()
    return plain(found if isinstance(found, bytes) else found.tolist())


def told(call: Any, *phrases: str) -> Any:
    """The result of a call, or the class of its error and the phrases that it contains."""
    try:
        return plain(call())
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        kind, text = "ValueError", str(error)  # here the second class derives from the first
    except (tf.errors.OpError, LookupError, RuntimeError, TypeError, AttributeError) as error:
        kind, text = type(error).__name__, str(error)
    return [kind, *(phrase for phrase in phrases if phrase in text)]


TEXTS = [b"\xfe\xff\x00*", b"\xff\xfe*\x00", b"\x00*", b"\x00<\xfe\xff\x00>", b"<\x00\xff\xfe>\x00"]
WORDS = {
    "shift_jis": b"\x83\x65\x83\x58a\x83\x67",
    "SHIFT-JIS": b"\x83\x65\x83\x58",
    "EUC-JP": "\u6f22\u5b57a".encode("euc-jp"),
    "gb18030": "\u6c49\u5b57b".encode("gb18030"),
    "big5": "\u6f22\u5b57c".encode("big5"),
    "EUC-KR": "\ud55c\uae00".encode("euc-kr"),
    "koi8-r": "\u043c\u0438\u0440".encode("koi8-r"),
    "windows-1252": b"\x80 \xe9",
    "ISO-8859-15": b"\xa4",
    "latin1": b"\xe9\xff",
    "ascii": b"ab\xe9",
    "utf8": b"a\xffb",
    "UTF-16-LE": "\u4f60\U0001f600".encode("utf-16-le"),
    "UTF-32": "\u4f60a".encode("utf-32-be"),
    "UTF-32-LE": "\u4f60a".encode("utf-32-le"),
}


def encodings() -> Any:
    change = S.unicode_transcode
    strict = {"errors": "strict"}
    return [
        [told(lambda e=e: change(TEXTS, e, "UTF-8")) for e in ("UTF-16", "utf-16", "UTF-16-LE")],
        {e: told(lambda e=e, w=w: change(w, e, "UTF-8")) for e, w in WORDS.items()},
        {e: told(lambda e=e, w=w: S.unicode_decode([w], e)) for e, w in WORDS.items()},
        {e: told(lambda e=e, w=w: S.unicode_decode_with_offsets(w, e)) for e, w in WORDS.items()},
        told(lambda: S.unicode_decode_with_offsets(TEXTS[:3], "UTF-16")),
        told(lambda: change("a", "invalid", "UTF-8"), "Could not create converter for input"),
        told(lambda: change("a", "hex", "UTF-8"), "Could not create converter for input"),
        told(lambda: change(b"\xffa", "UTF-8", "UTF-8", **strict), "Invalid formatting on input"),
        told(lambda: S.unicode_decode(b"\xfeED", "UTF-8", **strict), "Invalid formatting on input"),
        told(lambda: change("a", "UTF-8", "UTF-8", errors="oops"), "list of allowed values"),
        told(lambda: change("a", "UTF-8", "UTF-16"), "list of allowed values"),
        *(
            told(lambda c=c: S.unicode_decode(["a"], "UTF-8", "replace", c), "out of unicode codep")
            for c in (-1, 0x110000)
        ),
    ]


def parts() -> Any:
    found = [
        told(lambda p=p, u=u: S.substr("Hello", p, 1, unit=u), f"pos {p} out of range for string")
        for p in (-6, -5, 5, 6)
        for u in ("BYTE", "UTF8_CHAR")
    ]
    return [
        *found,
        told(lambda: S.substr(["a", "bc"], [[1, 1, 2]], [[1]]), "should have the same shape"),
        told(lambda: S.substr("a", 0, 1, unit="x"), "list of allowed values"),
        told(lambda: S.length("a", unit="x"), "list of allowed values"),
        told(lambda: S.substr("a", tf.constant(0.5), tf.constant(1.0))),
    ]


def put_together() -> Any:
    text, numbers = S.as_string, [1.5]
    return [
        *(
            told(lambda o=o: text(["hello", "a"], **o))
            for o in ({"width": 8}, {"width": 8, "fill": "-"}, {"width": 8, "fill": "0"})
        ),
        told(lambda: text(["hello"], precision=1)),
        told(lambda: text(numbers, scientific=True, shortest=True), "Cannot select both"),
        told(lambda: text([1], precision=2), "precision not supported"),
        told(lambda: S.reduce_join("a", axis=0), "Invalid reduction dimension 0 for input with 0"),
        told(lambda: S.reduce_join(["a"], axis=[0, 1]), "Invalid reduction dimension 1"),
        told(lambda: S.join([])),
        told(lambda: tf.raw_ops.StringJoin(inputs=[])),
        told(lambda: S.regex_full_match("a", "A["), "Invalid pattern: A[, error: missing ]"),
        told(lambda: S.regex_replace("a", "A[", "b"), "Invalid pattern: A[, error: missing ]"),
        told(lambda: S.format("{} {}", [1]), "The template expects 2 tensors, but the inputs only"),
        told(lambda: S.to_hash_bucket_strong("a", 9, [1]), "Key must have 2 elements"),
    ]


PROGRAMS = {"encodings": encodings, "parts": parts, "put together": put_together}


if __name__ == "__main__":
    report(PROGRAMS)
