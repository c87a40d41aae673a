"""Writes pieces.zip beside it: SentencePiece models; piece_tokenizer.zip: a SavedModel with one;
and pieces.json.gz: results of TensorFlow Text's ops with them.

Run with a Python that has tensorflow 2.21, tensorflow-text 2.21.1 and sentencepiece 0.2.3
(`make text` does). Models are trained on random words; two are changed afterwards, so that they
have pieces that only occur as intermediate merges, and rules for joined texts.
"""

import gzip
import io
import json
import random
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import sentencepiece
import tensorflow as tf
import tensorflow_text as text
from sentencepiece import sentencepiece_model_pb2
from tensorflow.python.framework import load_library

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from support.golden import record  # noqa: E402 - the path is set above

OPS = Path(text.__file__).parent / "python" / "ops"
_TEXT = """
    the of and to in is it you that he was for on are with as they be at one have this from or
    had by hot some what there we can out other were all your when up use word how said an each
    she which do their time if will way about many then them would write like so these her long
    make thing see him two has look more day could go come did my sound no most number who over
    know water than call first people may down side been now find any new work part take get
    place made live where after back little only round man year came show every good me give our
    under name naïve café über 東京 日本語 日本 学校 привет мир 12 1984 3.5
"""
WORDS = _TEXT.split()
# name -> training options.
TRAINED: dict[str, dict[str, Any]] = {
    "scores": {
        "vocab_size": 185,
        "user_defined_symbols": ["<sep>", "the_one"],
        "control_symbols": ["<cls>"],
    },
    "suffixes": {
        "vocab_size": 150,
        "treat_whitespace_as_suffix": True,
        "normalization_rule_name": "identity",
        "pad_id": 3,
    },
    "merges": {
        "vocab_size": 420,
        "model_type": "bpe",
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "user_defined_symbols": ["<sep>"],
        "unk_surface": "(?)",
    },
    "as_is": {
        "vocab_size": 220,
        "model_type": "bpe",
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
        "normalization_rule_name": "identity",
        "bos_id": -1,
        "hard_vocab_limit": False,
    },
    "words": {
        "vocab_size": 100,
        "model_type": "word",
        "hard_vocab_limit": False,
        "normalization_rule_name": "identity",
    },
    "characters": {
        "vocab_size": 70,
        "model_type": "char",
        "hard_vocab_limit": False,
        "normalization_rule_name": "identity",
    },
}
RANKED = ("scores", "suffixes")


def trained() -> dict[str, bytes]:
    rng = random.Random(3)
    lines = [
        " ".join(rng.choices(WORDS, k=rng.randrange(3, 14))) + rng.choice([".", "!", "?", ""])
        for _ in range(2500)
    ]
    found = {}
    for name, how in TRAINED.items():
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=out, minloglevel=2, num_threads=1, **how
        )
        found[name] = out.getvalue()
    return found


def changed(models: dict[str, bytes]) -> dict[str, bytes]:
    """The models with unused pieces, and in one of them visible, unescaped spaces."""
    kind = sentencepiece_model_pb2.ModelProto
    found = {}
    for name, every in (("merges", 3), ("scores", 4)):
        model = kind.FromString(models[name])
        usual = [one for one in model.pieces if one.type == kind.SentencePiece.NORMAL]
        for one in usual[::every]:
            if len(one.piece) > 1:
                one.type = kind.SentencePiece.UNUSED
        found[f"{name}_unused"] = model.SerializeToString(deterministic=True)
    model = kind.FromString(models["as_is"])
    model.normalizer_spec.escape_whitespaces = False
    model.denormalizer_spec.CopyFrom(kind.FromString(models["scores"]).normalizer_spec)
    model.denormalizer_spec.add_dummy_prefix = False
    model.denormalizer_spec.escape_whitespaces = False
    found["joined"] = model.SerializeToString(deterministic=True)
    return found


def texts() -> list[bytes]:
    rng = random.Random(5)
    parts = "hello the world water naïve café 東京 日本語 привет zebra <sep> <s> ﬁ x² <unk> the_one"
    more = [*parts.split(), "<cls>", "▁", "İI", "\t", "😀", "\x00", "ÿ", "E\u0301", "\u3000"]
    drawn = [
        rng.choice(["", "  "])
        + "".join(rng.choice(more) + rng.choice(["", " ", "  "]) for _ in range(rng.randrange(8)))
        for _ in range(100)
    ]
    damaged = [b"", b" ", b"   ", b"a\xff b", b"\xff", b"\xe3\x81", b"the \xed\xa0\x80 day"]
    whole = ["hello<sep><sep>world the_onethe_one", "the water of the world. the school!"]
    return [*(one.encode() for one in (*drawn, *whole)), *damaged]


def plain(found: Any) -> Any:
    """Nested lists; bytes as text with one character for each byte."""
    if isinstance(found, (list, tuple)):
        return [plain(one) for one in found]
    if isinstance(found, bytes):
        return found.decode("latin-1")
    if hasattr(found, "numpy"):
        return plain(found.numpy().tolist())
    return found


def answers(ops: Any, name: str, model: bytes, every: list[bytes]) -> dict[str, Any]:
    handle = ops.sentencepiece_op(model=model)
    usual = {"add_bos": False, "add_eos": False, "reverse": False}
    ends = [{}, {"add_eos": True, "reverse": True}, {"add_bos": True, "add_eos": True}]
    if name in {"as_is", "joined"}:  # there is no piece for the start of a text
        ends.pop()
    cuts = []
    for more in ends:
        options = {**usual, **more}
        for dtype in (tf.int32, tf.string):
            found = ops.sentencepiece_tokenize_with_offsets_op(
                handle, every, nbest_size=0, alpha=1.0, **options, out_type=dtype
            )
            back = {**usual, "reverse": options["reverse"]}
            joined = ops.sentencepiece_detokenize_op(handle, *found[:2], **back)
            case = {"ends": options, "type": dtype.name, "found": plain(found)}
            cuts.append({**case, "joined": plain(joined)})
    size = int(ops.sentencepiece_vocab_size_op(handle))
    rng = random.Random(8)
    drawn = [[rng.randrange(size) for _ in range(rng.randrange(12))] for _ in range(80)]
    ids = tf.ragged.constant(drawn, tf.int32)
    of_ids = [ids.values, ids.row_splits]
    ended = {**usual, "add_eos": True}
    asked = tf.constant(["zz", "<unk>", "<s>", "▁the", "<0x41>", "▁", "a", "hello", ""])
    splits = tf.constant([0, 4, 7, 7, 9], tf.int32)
    found = {
        "cuts": cuts,
        "ids": plain(of_ids),
        "joined": plain(
            ops.sentencepiece_detokenize_op(handle, ids.values, ids.row_splits, **ended)
        ),
        "names": plain(ops.sentencepiece_id_to_string_op(handle, tf.range(size))),
        "asked": plain([asked, splits]),
        "numbers": plain(ops.sentencepiece_string_to_id_op(handle, asked)),
        "asked_joined": plain(ops.sentencepiece_detokenize_op(handle, asked, splits, **usual)),
    }
    if name in RANKED:
        found["best"] = [
            plain(
                ops.sentencepiece_tokenize_with_offsets_op(
                    handle, every[:12], nbest_size=n, alpha=1.0, **usual, return_nbest=True
                )
            )
            for n in (1, 4)
        ]
    return found


def saved(model: bytes) -> dict[str, Any]:
    """A SavedModel of a tokenizer, in piece_tokenizer.zip, with its inputs and results."""

    class Model(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.tokenizer = text.SentencepieceTokenizer(model, add_eos=True)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "x")])
        def __call__(self, x: Any) -> Any:
            found = self.tokenizer.tokenize(x)
            return {"ids": found.to_tensor(-1), "back": self.tokenizer.detokenize(found)}

    made = Model()
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(made, folder, signatures=made.__call__)
        with zipfile.ZipFile(HERE / "piece_tokenizer.zip", "w") as archive:
            for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(file.relative_to(folder).as_posix())
                entry.compress_type = zipfile.ZIP_LZMA
                archive.writestr(entry, file.read_bytes())
    asked = ["the water of the world", "東京 naïve", "", "hello <sep>"]
    found = made(tf.constant(asked))
    return {"asked": asked, "found": {key: plain(value) for key, value in found.items()}}


MODELS = trained()
MODELS |= changed(MODELS)
EVERY = texts()
library = load_library.load_op_library(str(OPS / "_sentencepiece_tokenizer.so"))
content = {
    "texts": plain(EVERY),
    "saved": saved(MODELS["merges"]),
    "models": {name: answers(library, name, model, EVERY) for name, model in MODELS.items()},
}
with zipfile.ZipFile(HERE / "pieces.zip", "w") as archive:
    for name, model in MODELS.items():
        entry = zipfile.ZipInfo(name)
        entry.compress_type = zipfile.ZIP_LZMA
        archive.writestr(entry, model)
data = json.dumps(content, sort_keys=True).encode()
(HERE / "pieces.json.gz").write_bytes(gzip.compress(data, 9, mtime=0))
WITH = "tensorflow-text 2.21.1, sentencepiece 0.2.3"
for name in ("pieces.zip", "pieces.json.gz", "piece_tokenizer.zip"):
    record(f"text/{name}", script="text/make_pieces.py", made_with=WITH)
