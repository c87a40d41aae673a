"""The targets: each damages one file and uses it as a program would.

`use` returns if the file is valid or cannot be distinguished from a valid one; otherwise it raises
an `OpError`. If a checksum covers the bytes, the data that is read must equal what was written.
"""

from __future__ import annotations

import io
import json
import random
import shutil
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fuzz.lite_files import LiteFiles, LiteMetadata
from fuzz.mutations import changed, changed_json, damaged
from fuzz.target import Target
from pinnace import saved_model, train
from pinnace.engine.build import plan_of
from pinnace.framework.errors import NotFoundError
from pinnace.ops.trees.forest_files import read_forest
from pinnace.ops.trees.nodes import Features
from pinnace.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
from pinnace.proto.checkpoint_pb2 import TrackableObjectGraph
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.saved_model.inspection import inspect
from pinnace.saved_model.stablehlo.exported import is_standalone
from pinnace.saved_model.stablehlo.standalone import function_of
from pinnace.saved_model.stablehlo.xla_call import traced_module
from pinnace.storage.bundle import BundleReader
from pinnace.storage.bundle_writer import BundleWriter
from pinnace.storage.record import RecordWriter, read_records
from pinnace.storage.table import TableWriter, read_table
from support.changed_models import write_changed

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[1] / "golden"
MODELS = {
    "saved_models": (
        *("poly_module", "counter", "lookup_assets", "v1_loops", "v1_conditions"),
        "autograph_flow",
    ),
    "version2": (
        *("adam_module", "lists_with_holes", "table_from_file", "function_root_with_traces"),
        *("ragged_words", "sparse_output"),
    ),
}
PB = "saved_model.pb"
VARIABLES = "variables/variables"


class Messages(Target):
    """saved_model.pb: loading, and decoding every signature and function."""

    weight = 5

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._data = {}
        for place, names in MODELS.items():
            for name in names:
                shutil.copytree(GOLDEN / place / name / "model", folder / name)
                self._data[name] = (folder / name / PB).read_bytes()
        self._names = tuple(self._data)
        self._name = self._names[0]

    def damage(self, draw: random.Random) -> int:
        self._name = draw.choice(self._names)
        data = self._data[self._name]
        if draw.random() < 0.6:
            message = SavedModel.FromString(data)
            changed(draw, message)
            data = message.SerializeToString()
        else:
            data = damaged(draw, data, self._data[draw.choice(self._names)])
        write_changed(self.folder / self._name / PB, data)
        return len(data)

    def use(self) -> None:
        use_model(self.folder / self._name)


def use_model(folder: Path) -> None:
    """Load a model, decode all of it, plan every signature; a bad part does not hide others."""
    loaded = saved_model.load(folder)
    inspect(folder)
    problem: Exception | None = None
    for name in loaded.signatures:
        try:
            graph = loaded.signatures[name].graph
            waiting = [ref.graph for ref in graph.functions()]
            while waiting:
                waiting += [ref.graph for ref in waiting.pop().functions()]
            plan_of(graph)
        except Exception as error:
            problem = problem or error
    for function in vars(loaded).values():
        if hasattr(function, "concrete_functions"):
            try:
                _ = function.concrete_functions
            except Exception as error:
                problem = problem or error
    for variable in loaded.variables if "variables" in vars(loaded) else ():
        variable.numpy()
    if problem is not None:
        raise problem


def entries_written(path: Path, entries: dict[bytes, bytes]) -> int:
    """Write a sorted table with valid checksums; returns its size."""
    file = io.BytesIO()
    table = TableWriter(file)
    for key in sorted(entries):
        table.add(key, entries[key])
    table.finish()
    path.write_bytes(file.getvalue())
    return len(file.getvalue())


class Index(Target):
    """variables.index: bytes, and wrong entries with valid checksums."""

    weight = 4

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        shutil.copytree(GOLDEN / "saved_models" / "poly_module" / "model", folder / "model")
        self._path = folder / "model" / f"{VARIABLES}.index"
        self._data = self._path.read_bytes()
        self._entries = read_table(self._path)
        self._size = Path(f"{folder}/model/{VARIABLES}.data-00000-of-00001").stat().st_size
        self._wanted = self._values()

    def _values(self) -> dict[str, Any]:
        reader = BundleReader(self.folder / "model" / VARIABLES)
        return {key: reader.read(key).tolist() for key in reader.keys()}  # noqa: SIM118 (no dict)

    def damage(self, draw: random.Random) -> int:
        self._is_checked = draw.random() < 0.4
        if self._is_checked:
            data = damaged(draw, self._data, self._data)
            self._path.write_bytes(data)
            return len(data) + self._size
        entries = dict(self._entries)
        key = draw.choice(sorted(entries))
        kind: Any = BundleEntryProto if key else BundleHeaderProto
        if draw.random() < 0.1:
            del entries[key]
        elif draw.random() < 0.15:
            entries[damaged(draw, key, b"")] = entries[key]
        else:
            message = kind.FromString(entries[key])
            changed(draw, message)
            entries[key] = message.SerializeToString()
        return entries_written(self._path, entries) + self._size

    def use(self) -> None:
        values = self._values()
        if self._is_checked and values != self._wanted:
            raise AssertionError("a damaged index was read as something else")
        use_model(self.folder / "model")


class Data(Target):
    """variables.data: the values that are read equal those that were written."""

    weight = 2

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng = np.random.default_rng(0)
        self._wanted = {
            "numbers": rng.standard_normal((40, 3)).astype(np.float32),
            "few": np.arange(5),
            "words": np.array([b"a", b"", b"longer word"] * 9, object),
        }
        with BundleWriter(folder / "b") as writer:
            for name, value in self._wanted.items():
                writer.add(name, value)
        self._path = folder / "b.data-00000-of-00001"
        self._data = self._path.read_bytes()

    def damage(self, draw: random.Random) -> int:
        data = damaged(draw, self._data, self._data)
        self._path.write_bytes(data)
        return len(data)

    def use(self) -> None:
        reader = BundleReader(self.folder / "b")
        problem: Exception | None = None
        for name, value in self._wanted.items():
            try:
                same = reader.read(name).tolist() == value.tolist()
            except Exception as error:
                problem = problem or error
            else:
                if not same:
                    raise AssertionError(f"{name} was read as something else")
        if problem is not None:
            raise problem


class Checkpoint(Target):
    """A checkpoint, and the file that names the newest one."""

    weight = 3

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from pinnace.framework.variable import Variable

        self._made = lambda: train.Checkpoint(
            a=Variable(np.arange(6.0)), parts=[Variable(1), Variable([2, 3])]
        )
        self._path = Path(self._made().save(folder / "c"))
        self._state = (folder / "checkpoint").read_bytes()
        reader = BundleReader(self._path)
        self._values = {key: np.array(reader.read(key)) for key in reader.keys()}  # noqa: SIM118 (no dict)
        self._graph = self._values["_CHECKPOINTABLE_OBJECT_GRAPH"][()]

    def damage(self, draw: random.Random) -> int:
        state = self._state
        if draw.random() < 0.5:
            state = damaged(draw, state, state)
        (self.folder / "checkpoint").write_bytes(state)
        graph = TrackableObjectGraph.FromString(self._graph)
        changed(draw, graph)
        data = graph.SerializeToString()
        held = np.empty((), object)
        held[()] = data
        with BundleWriter(self._path) as writer:
            for key, value in {**self._values, "_CHECKPOINTABLE_OBJECT_GRAPH": held}.items():
                writer.add(key, value)
        return len(data) + 4096

    def use(self) -> None:
        train.latest_checkpoint(self.folder)
        train.list_variables(str(self._path))
        self._made().read(str(self._path)).expect_partial()


class Records(Target):
    """TFRecord, plain and compressed: the records that are read are a prefix of those written."""

    weight = 3

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        draw = random.Random(0)
        self._records = [draw.randbytes(size) for size in (0, 1, 30, 700, 5)]
        self._data = {}
        for kind in (None, "GZIP", "ZLIB"):
            path = folder / "whole"
            with RecordWriter(path, kind) as writer:
                for record in self._records:
                    writer.write(record)
            self._data[kind] = path.read_bytes()
        self._kind: str | None = None

    def damage(self, draw: random.Random) -> int:
        self._kind = draw.choice((None, "GZIP", "ZLIB"))
        data = damaged(draw, self._data[self._kind], self._data[self._kind])
        (self.folder / "damaged").write_bytes(data)
        return len(data)

    def use(self) -> None:
        for number, record in enumerate(read_records(self.folder / "damaged", self._kind)):
            # A record that was duplicated or moved as a whole is valid; any other change is an
            # error.
            if record not in self._records:
                raise AssertionError(f"record {number} was read as something else")


class KerasFile(Target):
    """.keras: the bytes of the archive, and wrong members with valid checksums."""

    weight = 4
    _names = ("dense", "words", "operations", "sentences")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        files = [GOLDEN / "keras_files" / "keras_3" / f"{name}.keras" for name in self._names]
        files.append(GOLDEN / "keras_files" / "keras_2" / "functions.keras")
        self._data = [file.read_bytes() for file in files]
        self._members = [_members_of(data) for data in self._data]
        self._path = folder / "damaged.keras"

    def damage(self, draw: random.Random) -> int:
        which = draw.randrange(len(self._data))
        roll = draw.random()
        if roll < 0.25:
            data = damaged(draw, self._data[which], draw.choice(self._data))
        else:
            members = dict(self._members[which])
            name = "config.json" if roll < 0.75 else "model.weights.h5"
            if name == "config.json" and draw.random() < 0.8:
                content = json.loads(members[name])
                changed_json(draw, content)
                members[name] = json.dumps(content).encode()
            elif name == "config.json":
                members[name] = damaged(draw, members[name], draw.choice(self._members)[name])
            else:
                members[name] = _with_other_objects(draw, members[name])
            data = _archive_of(members)
        self._path.write_bytes(data)
        return len(data)

    def use(self) -> None:
        use_keras_model(self._path)


class OlderKerasFile(Target):
    """Whole models in .h5: changed configurations, arrays, lists and links in intact files.

    Their bytes are not damaged: such a file has no checksums, and the HDF5 library, which reads
    them, does not terminate for some. A .keras file has a checksum over the bytes of its weights.
    """

    weight = 4
    _names = (
        *("keras_3/dense", "keras_3/words", "keras_2/functions", "keras_2/heads"),
        *("keras_1/branches", "keras_1/recurrent", "keras_2_0/nested", "keras_2_cudnn/recurrent"),
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._data = [(GOLDEN / "keras_files" / f"{name}.h5").read_bytes() for name in self._names]
        self._path = folder / "damaged.h5"

    def damage(self, draw: random.Random) -> int:
        data = draw.choice(self._data)
        roll = draw.random()
        if roll < 0.05:
            data = data[: draw.randrange(2048)]
        elif roll < 0.4:
            data = _with_other_objects(draw, data)
        else:
            data = _with_other_attribute(draw, data)
        self._path.write_bytes(data)
        return len(data)

    def use(self) -> None:
        use_keras_model(self._path)


def use_keras_model(path: Path) -> None:
    """Load a model and read its weights."""
    from pinnace import keras

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = keras.models.load_model(path)
    for weight in model.weights:
        weight.numpy()
    keras.utils.clear_session()


def _members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive_of(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _with_other_attribute(draw: random.Random, data: bytes) -> bytes:
    import h5py

    memory = io.BytesIO(data)
    with h5py.File(memory, "r+") as file:
        name = draw.choice(("model_config", "model_config", "training_config"))
        name = name if name in file.attrs else "model_config"
        content = json.loads(file.attrs[name])
        changed_json(draw, content)
        file.attrs[name] = json.dumps(content)
    return memory.getvalue()


def _with_other_objects(draw: random.Random, data: bytes) -> bytes:
    """An HDF5 file with some arrays, groups and lists of names changed, removed, or made links."""
    import h5py

    memory = io.BytesIO(data)
    with h5py.File(memory, "r+") as file:
        for _ in range(draw.randint(1, 3)):
            names: list[str] = []
            file.visit(names.append)
            if not names:
                break  # all of it has been removed already
            _change_object(draw, file, draw.choice(sorted(names)))
    return memory.getvalue()


def _change_object(draw: random.Random, file: Any, name: str) -> None:
    import h5py

    attributes = file[name].attrs
    if len(attributes) and draw.random() < 0.5:
        key = draw.choice(sorted(attributes))
        value: Any = draw.choice((b"x", 7, [b"a", b"b"], np.zeros([3]), [b"../x"], "y" * 999))
        if draw.random() < 0.2:
            del attributes[key]
        else:
            attributes[key] = value
        return
    data = file[name]
    is_small = isinstance(data, h5py.Dataset) and data.size < 10_000 and data.dtype.kind in "biuf"
    array = np.zeros(data.shape, data.dtype) if is_small else np.zeros([2])
    del file[name]
    kind = draw.randrange(8)
    if kind == 0:
        file[name] = h5py.SoftLink("/")
    elif kind == 1:
        file[name] = h5py.ExternalLink("other.h5", "/")
    elif kind == 2:
        file[name] = array.astype(draw.choice(("f8", "i4", "S4", "c8", "?")))
    elif kind == 3:
        file[name] = np.zeros(draw.choice(([], [0], [1], [3, 4], [4, 5, 6])))
    elif kind == 4:
        sizes = [draw.choice((1 << 20, 1 << 40, 3))] * 2
        file.create_dataset(name, sizes, "f4", chunks=(3, 3), compression="gzip")
    elif kind == 5:
        file.create_group(name)
    elif kind == 6:
        outside = [("/etc/hostname", 0, 4)]
        file.create_dataset(name, [1], "f4", external=outside)


class Modules(Target):
    """StableHLO modules: their bytes are read, and valid ones are translated to a graph."""

    weight = 4

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._data = []
        for path in sorted((GOLDEN / "jax").glob("*/model/saved_model.pb")):
            message = SavedModel.FromString(path.read_bytes())
            for function in message.meta_graphs[0].graph_def.library.function:
                for node in function.node_def:
                    if node.op == "XlaCallModule":
                        self._data.append(node.attr["module"].s)
        self._damaged = b""

    def damage(self, draw: random.Random) -> int:
        self._damaged = damaged(draw, draw.choice(self._data), draw.choice(self._data))
        return len(self._damaged)

    def use(self) -> None:
        traced_module(self._damaged, (), ())


class Programs(Target):
    """Files of `jax.export`: their structure is read, then the module, which may be intact."""

    weight = 3

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        files = sorted((GOLDEN / "jax_exports").glob("*/export.bin"))
        self._data = [path.read_bytes() for path in files]
        self._damaged = b""

    def damage(self, draw: random.Random) -> int:
        self._damaged = damaged(draw, draw.choice(self._data), draw.choice(self._data))
        return len(self._damaged)

    def use(self) -> None:
        is_standalone(self._damaged[:4096])
        function_of(self._damaged)


class Forests(Target):
    """A folder of ydf: one of its files is damaged, the others are intact."""

    weight = 4

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._forests = []
        for path in sorted((GOLDEN / "forests").glob("*/model/assets")):
            # The names of assets begin with the same number.
            files = {one.name.partition("_")[2]: one for one in sorted(path.iterdir())}
            self._forests.append({name: one.read_bytes() for name, one in files.items()})
        self._files: dict[str, bytes] = {}

    def damage(self, draw: random.Random) -> int:
        self._files = dict(draw.choice(self._forests))
        name = draw.choice([one for one, data in self._files.items() if data])
        donor = draw.choice(self._forests)
        other = donor.get(name) or draw.choice([data for data in donor.values() if data])
        self._files[name] = damaged(draw, self._files[name], other)
        return len(self._files[name])

    def use(self) -> None:
        def read(name: str) -> bytes:
            if name not in self._files:
                raise NotFoundError(name)
            return self._files[name]

        forest, columns = read_forest(read)
        rows, width = 3, len(columns.numerical) + len(columns.boolean)
        features = Features(
            np.zeros((rows, width), np.float32),
            np.zeros((rows, len(columns.categorical)), np.int32),
            np.zeros(0, np.int32),
            np.zeros(rows * len(columns.sets) + 1, np.int64),
            len(columns.sets),
        )
        forest.predict(features, rows)


TARGETS: tuple[Callable[[Path], Target], ...] = (
    *(Messages, Index, Data, Checkpoint, KerasFile, OlderKerasFile, Modules, Programs, Forests),
    *(LiteFiles, LiteMetadata, Records),
)
