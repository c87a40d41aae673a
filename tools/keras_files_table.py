# ruff: noqa: E501 (lines of the page)
"""Which files of which Keras are read, by kind of model, as docs/reference/keras_files.md.

The files are those of tests/golden, which Keras wrote and a test opens; the versions are those that
tests/golden/MANIFEST.json says. A file whose kind has no line below is an error.
"""

import argparse
import ast
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "keras_files.md"
GOLDEN = ROOT / "tests" / "golden"
AGAIN = ROOT / "tests" / "interop" / "test_keras_2_again.py"
# Name of a file, without a number -> what the model has.
KINDS = {
    "dense": "dense layers, dropout, an optimizer with its state",
    "normal": "batch normalisation",
    "pictures": "convolutions, pooling, preprocessing of pictures",
    "pictures_first": "the same with channels first",
    "widened": "transposed convolutions",
    "waves": "convolutions and pooling of series, locally connected layers",
    "films": "convolutional LSTM",
    "recurrent": "LSTM, GRU, bidirectional",
    "on_gpus": "`CuDNNLSTM` and `CuDNNGRU`, as they were trained on GPUs",
    "coder": "encoder and decoder with states",
    "backwards_first": "bidirectional, whose forward half begins with the last step",
    "sentences": "texts: vectorisation, embedding with masks",
    "words": "lookups, categories of texts",
    "categories": "lookups and encodings of categories",
    "adapted": "normalisation that was adapted",
    "attention": "attention, layer normalisation",
    "heads": "several inputs and outputs",
    "merges": "layers that join others, of Keras 1",
    "branches": "a sequential model that begins with several",
    "each_step": "a model for each step of a series",
    "shared": "a layer that is called twice",
    "nested": "models in models, some layers frozen",
    "functional": "functional, with several branches",
    "sequential": "sequential",
    "without_traces": "a folder that has no traced functions",
    "functions": "functions of TensorFlow between layers",
    "some": "many functions of TensorFlow in one model (724 more are kept as configurations with their answers)",
    "operations": "`keras.ops` between layers",
    "operators": "operators of tensors between layers",
    "nodes": "nodes of graphs, as TensorFlow 1.13 to 2.3 wrote",
    "locally_connected": "locally connected layers",
    "masked_coder": "encoder and decoder with masks and states",
    "masked_both_ways": "bidirectional coders with masks and states",
    "masked_inside": "a decoder that is a model inside a model",
    "masked_gru": "a mask that sums carry",
    "masked_merges": "layers that join masks",
    "masking_simple": "`Masking` before a simple recurrent layer",
    "own_layer": "a layer of one's own",
    "own_model": "a model of one's own",
    "without_shape": "a sequential model that was built by data",
}
_BY_FOLDER = {"keras_2_nodes": "nodes", "keras_2_cudnn": "on_gpus"}
FORMATS = {"keras_files": "", "keras_checkpoints": "checkpoint", "keras_folders": "folder"}
_HEAD = """# Files of Keras that are read

Written by `python tools/keras_files_table.py --write` from the files in `tests/golden` that Keras itself wrote and tests open: weights and answers are
compared with those of the Keras that wrote them. A cell is the number of files. `2.13.1 .keras` is the format `.keras` as Keras 2.13.1 wrote it;
2.21.0 is tf_keras, the Keras 2 of today, which writes as 2.15 did. A checkpoint is what `save_weights` of Keras 2 writes without an ending.

*Saved again* says whether the file, read and saved here, opens in Keras 3 with the same answers
([what it cannot say](../guide/keras.md#models-of-keras-2-in-keras-3)).

"""
_TAIL = """
Beside these files tests make forms by hand that no installable Keras writes any more: a `Sequential` of Keras before 2.2.3, whose configuration is a
list, initializers of tf.keras 1.x with a `dtype`, and each `.keras` form as programs on Windows write it (back-slashes, ends of lines, marks before JSON).
`.weights.h5` and checkpoints go both ways between this library and Keras 3 in `make interop`.

Files of Keras 1 to 2.3 were written on Theano, which runs today; what they hold is the same on TensorFlow but for the kernels of convolutions, which
Theano reads from the end: they are turned where a file tells its backend, as those of Keras 2 do. Of Keras 1, layers that no later Keras has (`Highway`,
`MaxoutDense`, `SReLU`, `ParametricSoftplus`, `BatchNormalization` with a mode, `Merge` with a function) are refused by name, and the state of an
optimizer is not restored.
"""


def kind_of(path: Path) -> str:
    """The kind of a file's model, one of `KINDS`."""
    if path.parts[0] == "keras_folders":
        return path.parts[1]
    if path.parts[1] in _BY_FOLDER:
        return _BY_FOLDER[path.parts[1]]
    name = re.sub(r"_\d+$", "", path.name.split(".")[0])
    return name.split("-")[0] if path.parts[0] == "keras_checkpoints" else name


def format_of(path: Path) -> str | None:
    """The format of a file; None if it is not one that is opened."""
    if path.parts[0] == "keras_folders":
        return "folder" if path.name == "saved_model.pb" else None
    if path.parts[0] == "keras_checkpoints":
        return "checkpoint" if path.suffix == ".index" else None
    if path.name.endswith(".weights.h5"):
        return "weights"
    return path.suffix if path.suffix in {".h5", ".keras"} else None


def page() -> str:
    """The page."""
    manifest = json.loads((GOLDEN / "MANIFEST.json").read_text())
    cells: dict[str, dict[tuple[tuple[int, ...], str], int]] = defaultdict(lambda: defaultdict(int))
    for name, entry in manifest.items():
        path = Path(name)
        if path.parts[0] not in FORMATS or (form := format_of(path)) is None:
            continue
        version = re.search(r"keras (\d+)\.(\d+)\.(\d+)", entry["made_with"].replace("_", "-"))
        if version is None:
            raise SystemExit(f"{name}: MANIFEST.json names no Keras")
        kind = kind_of(path)
        if kind not in KINDS:
            raise SystemExit(f"{name}: {kind!r} has no line in tools/keras_files_table.py")
        cells[kind][tuple(map(int, version.groups())), form] += 1
    if unused := KINDS.keys() - cells.keys():
        raise SystemExit(f"no file is of the kind {', '.join(sorted(unused))}")
    columns = sorted({column for row in cells.values() for column in row})
    heads = [f"{'.'.join(map(str, version))} {form}" for version, form in columns]
    lines = [" | ".join(["| kind of model", *heads, "saved again |"])]
    lines.append("|---" * (len(columns) + 2) + "|")
    cannot = _cannot()
    for kind, what in KINDS.items():
        row = cells[kind]
        again = "no" if kind in cannot else "yes" if _is_saved_again(manifest, kind) else ""
        counts = [str(row[column]) if column in row else "" for column in columns]
        lines.append(" | ".join([f"| {what}", *counts, f"{again} |"]))
    return _HEAD + "\n".join(lines) + "\n" + _TAIL


def _cannot() -> set[str]:
    """The kinds that a test leaves out, since Keras 3 does not open them; see its comment."""
    for node in ast.parse(AGAIN.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "KERAS_3_CANNOT":
            return set(ast.literal_eval(node.value)) | {"nodes"}
    raise SystemExit(f"{AGAIN.name} has no KERAS_3_CANNOT")


def _is_saved_again(manifest: dict[str, object], kind: str) -> bool:
    return any(
        kind_of(Path(name)) == kind
        for name in manifest
        if name.startswith("keras_files/keras_2/") and Path(name).suffix in {".h5", ".keras"}
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    if parser.parse_args().write:
        PAGE.write_text(page())
    else:
        sys.stdout.write(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
