"""Version-1 models that TensorFlow writes, and its results after it has loaded them.

Runs with TensorFlow: `python tests/interop/v1_writing.py FOLDER [NAME ...]` makes a folder per
program with `model/` (or `graph.pb`), `about.json` and recorded calls, `io.npz`. The calls run in
order in one session, after the model was loaded as by TensorFlow Serving.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

v1 = tf.compat.v1
SEED = 20261122
LARGEST = 50_000  # bytes of a model's files


@dataclass
class Signature:
    """Inputs and outputs by name; `method` is TensorFlow Serving's method name."""

    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    method: str = "tensorflow/serving/predict"


@dataclass
class Model:
    """A model that a program built in the default graph.

    Attributes:
        signatures: the signatures by name.
        calls: (signature, arrays by input) in the order in which they are run.
        start: op that runs before the model is saved, after the initialisers of its variables and
            tables.
        main_op: op that runs when the model is loaded.
        is_legacy: whether that op is in the legacy collection.
        runs_collected: whether the initialisers that the graph collected are run for the answers,
            as `tf.saved_model.load` does where no initialiser is named.
        tags: tags of the graph.
        others: tags and signatures of more graphs in the same file.
        saver: saves the variables; TensorFlow's own if None.
        twin: builds the same signatures with other ops in a separate graph, for the results of a
            model for whose ops TensorFlow has no kernels.
    """

    signatures: Mapping[str, Signature]
    calls: Sequence[tuple[str, Mapping[str, Any]]]
    start: Sequence[Any] = ()
    main_op: Any = None
    is_legacy: bool = False
    runs_collected: bool = False
    tags: Sequence[str] = ("serve",)
    others: Sequence[tuple[Sequence[str], Mapping[str, Signature]]] = ()
    saver: Any = None
    twin: Callable[[], Mapping[str, Signature]] | None = None


@dataclass
class Frozen:
    """A graph whose variables have become constants.

    Attributes:
        inputs: names of tensors.
        outputs: names of tensors.
        calls: arrays by input.
        is_text: whether the file is in the text form.
    """

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    calls: Sequence[Mapping[str, Any]]
    is_text: bool = False


@dataclass
class Programs:
    """Programs by the names of the models that they write."""

    found: dict[str, Callable[..., Model | Frozen]] = field(default_factory=dict)

    def __call__(self, function: Callable[..., Model | Frozen]) -> Callable[..., Model | Frozen]:
        """Add a program; its optional argument is a folder for its files."""
        self.found[function.__name__] = function
        return function


def one(
    inputs: Mapping[str, Any], outputs: Mapping[str, Any], *feeds: Mapping[str, Any], **more: Any
) -> Model:
    """A model with one signature."""
    calls = [("serving_default", feed) for feed in feeds]
    return Model({"serving_default": Signature(inputs, outputs)}, calls, **more)


def numbers(*shape: int, seed: int = SEED) -> np.ndarray:
    """Weights, or inputs."""
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def texts(*items: Any) -> np.ndarray:
    """Strings."""
    if any(item[-1:] == b"\0" for item in items if isinstance(item, bytes)):
        raise ValueError("NumPy's fixed-size bytes lose the zeros that a text ends with")
    return np.array(list(items), "S").reshape(len(items))


def example(**features: Any) -> bytes:
    """A serialised Example."""
    made = tf.train.Example()
    for key, value in features.items():
        listed = value if isinstance(value, (list, tuple)) else [value]
        feature = made.features.feature[key]
        if isinstance(listed[0], (str, bytes)):
            feature.bytes_list.value.extend(
                item.encode() if isinstance(item, str) else item for item in listed
            )
        elif isinstance(listed[0], float):
            feature.float_list.value.extend(listed)
        else:
            feature.int64_list.value.extend(listed)
    return made.SerializeToString(deterministic=True)  # for a fixed order of features


def write(name: str, program: Callable[..., Model | Frozen], folder: Path) -> None:
    """Write one model and its results."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    # A relative path, so that the model does not contain a path of this machine.
    own = Path("own")
    own.mkdir()
    # Otherwise a session needs a kernel for every op, also for those that nothing runs.
    pruned = v1.ConfigProto(graph_options=v1.GraphOptions(place_pruned_graph=True))
    with tf.Graph().as_default(), v1.Session(config=pruned) as session:
        v1.set_random_seed(SEED)
        made = program(own) if program.__code__.co_argcount else program()
        session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        session.run(v1.tables_initializer())
        for step in made.start if isinstance(made, Model) else ():
            session.run(step)
        if isinstance(made, Model):
            _save(session, made, folder / "model")
        else:
            _freeze(session, made, folder)
    shutil.rmtree(own)
    recorded = _answers(made, folder)
    np.savez_compressed(folder / "io.npz", **recorded)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert size < LARGEST, f"{name} is {size} bytes"


def _save(session: Any, made: Model, folder: Path) -> None:
    builder = v1.saved_model.Builder(str(folder))
    common = {
        "assets_collection": v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
        "legacy_init_op" if made.is_legacy else "main_op": made.main_op,
        "strip_default_attrs": True,
    }
    builder.add_meta_graph_and_variables(
        session, list(made.tags), _definitions(made.signatures), saver=made.saver, **common
    )
    for tags, signatures in made.others:
        builder.add_meta_graph(list(tags), _definitions(signatures), saver=made.saver, **common)
    builder.save()
    about = {"kind": "saved_model", "tags": list(made.tags)}
    (folder.parent / "about.json").write_text(json.dumps(about) + "\n")


def _definitions(signatures: Mapping[str, Signature]) -> dict[str, Any]:
    info = v1.saved_model.build_tensor_info
    return {
        name: v1.saved_model.build_signature_def(
            {key: info(tensor) for key, tensor in one.inputs.items()},
            {key: info(tensor) for key, tensor in one.outputs.items()},
            one.method,
        )
        for name, one in signatures.items()
    }


def _freeze(session: Any, made: Frozen, folder: Path) -> None:
    names = [tensor.op.name for tensor in made.outputs]
    graph = v1.graph_util.convert_variables_to_constants(
        session, session.graph.as_graph_def(), names
    )
    name = "graph.pbtxt" if made.is_text else "graph.pb"
    tf.io.write_graph(graph, str(folder), name, as_text=made.is_text)
    about = {
        "kind": "frozen",
        "file": name,
        "inputs": [tensor.name for tensor in made.inputs],
        "outputs": [tensor.name for tensor in made.outputs],
    }
    (folder / "about.json").write_text(json.dumps(about) + "\n")


def _answers(made: Model | Frozen, folder: Path) -> dict[str, np.ndarray]:
    about = json.loads((folder / "about.json").read_text())
    recorded: dict[str, np.ndarray] = {}
    with tf.Graph().as_default(), v1.Session() as session:
        if isinstance(made, Model) and made.twin is not None:
            known = _definitions(made.twin())
            calls = made.calls
        elif isinstance(made, Model):
            meta = v1.saved_model.load(session, list(made.tags), str(folder / "model"))
            known = meta.signature_def
            calls = made.calls
            if made.runs_collected:
                from tensorflow.python.saved_model.loader_impl import get_asset_tensors

                files = get_asset_tensors(str(folder / "model"), meta)
                session.run([v1.local_variables_initializer(), v1.tables_initializer()], files)
        else:
            graph = v1.GraphDef()
            if made.is_text:
                from google.protobuf import text_format

                text_format.Parse((folder / about["file"]).read_text(), graph)
            else:
                graph.ParseFromString((folder / about["file"]).read_bytes())
            tf.import_graph_def(graph, name="")
            calls = [("serving_default", feed) for feed in made.calls]
        for number, (signature, feed) in enumerate(calls):
            if isinstance(made, Model):
                places = _names(known[signature].inputs)
                wanted = _names(known[signature].outputs)
            else:
                places = {name: name for name in about["inputs"]}
                wanted = {name: name for name in about["outputs"]}
            given = {name: part for key, value in feed.items() for name, part in _parts(key, value)}
            fed = {places[key]: _as_fed(value) for key, value in given.items()}
            for key, value in given.items():
                recorded[f"{number}/{signature}/in/{key}"] = np.asarray(value)
            for key, value in session.run(wanted, fed).items():
                found = np.asarray(value)
                recorded[f"{number}/{signature}/out/{key}"] = (
                    found.astype("S") if found.dtype == object else found
                )
    return recorded


def _names(infos: Mapping[str, Any]) -> dict[str, str]:
    """The name of each tensor of a signature; components have the value's name and a number."""
    found = {}
    for key, info in infos.items():
        sparse = info.coo_sparse
        names = {
            "name": [info.name],
            "coo_sparse": [
                sparse.indices_tensor_name,
                sparse.values_tensor_name,
                sparse.dense_shape_tensor_name,
            ],
            "composite_tensor": [one.name for one in info.composite_tensor.components],
        }[info.WhichOneof("encoding")]
        for index, name in enumerate(names):
            found[key if len(names) == 1 else f"{key}|{index}"] = name
    return found


def _parts(key: str, value: Any) -> list[tuple[str, Any]]:
    """The feeds of one input, by the names from `_names`."""
    if isinstance(value, v1.ragged.RaggedTensorValue):
        splits = []
        while isinstance(value, v1.ragged.RaggedTensorValue):
            splits.append(value.row_splits)
            value = value.values
        value = (value, *splits)
    if not isinstance(value, tuple):
        return [(key, value)]
    return [(f"{key}|{index}", part) for index, part in enumerate(value)]


def _as_fed(value: Any) -> Any:
    return value.astype(object) if np.asarray(value).dtype.kind == "S" else value


def main() -> None:
    import v1_composites
    import v1_datasets
    import v1_estimators
    import v1_flow
    import v1_frozen
    import v1_tables
    import v1_trees
    import v1_variables

    v1.disable_v2_behavior()
    v1.disable_control_flow_v2()
    target = Path(sys.argv[1]).absolute()
    programs = {
        name: program
        for module in (
            v1_variables,
            v1_tables,
            v1_composites,
            v1_flow,
            v1_estimators,
            v1_trees,
            v1_datasets,
            v1_frozen,
        )
        for name, program in module.programs.found.items()
    }
    problems = 0
    for name in sys.argv[2:] or programs:
        try:
            write(name, programs[name], target / name)
        except Exception as error:
            problems += 1
            sys.stdout.write(f"FAIL {name}: {type(error).__name__}: {str(error)[:1500]}\n")
        else:
            sys.stdout.write(f"WROTE {name}\n")
        sys.stdout.flush()
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    sys.modules["v1_writing"] = sys.modules["__main__"]
    main()
