"""What is damaged, and what reads it: each target damages one file and uses it as a program would.

A target answers when the file is right or cannot be told from a right one; else it raises an
`OpError`. Where a checksum stands over the bytes, what is read must be what was written.
"""

from __future__ import annotations

import io
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fuzz.mutations import changed, damaged
from pinnace import saved_model, train
from pinnace.engine.build import plan_of
from pinnace.proto.bundle_pb2 import BundleEntryProto, BundleHeaderProto
from pinnace.proto.checkpoint_pb2 import TrackableObjectGraph
from pinnace.proto.saved_model_pb2 import SavedModel
from pinnace.storage.bundle import BundleReader
from pinnace.storage.bundle_writer import BundleWriter
from pinnace.storage.record import RecordWriter, read_records
from pinnace.storage.table import TableWriter, read_table

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[1] / "golden"
MODELS = ("poly_module", "counter", "lookup_assets", "v1_loops", "v1_conditions", "autograph_flow")
PB = "saved_model.pb"
VARIABLES = "variables/variables"


class Target:
    """Something to damage.

    Args:
        folder: empty, for its files.
    """

    weight = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def damage(self, draw: random.Random) -> int:
        """Put a damaged file in place; its size."""
        raise NotImplementedError

    def use(self) -> None:
        """Read it."""
        raise NotImplementedError


class Messages(Target):
    """saved_model.pb: loading, and decoding every signature and function there is."""

    weight = 5

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._data = {}
        for name in MODELS:
            shutil.copytree(GOLDEN / "saved_models" / name / "model", folder / name)
            self._data[name] = (folder / name / PB).read_bytes()
        self._name = MODELS[0]

    def damage(self, draw: random.Random) -> int:
        self._name = draw.choice(MODELS)
        data = self._data[self._name]
        if draw.random() < 0.6:
            message = SavedModel.FromString(data)
            changed(draw, message)
            data = message.SerializeToString()
        else:
            data = damaged(draw, data, self._data[draw.choice(MODELS)])
        (self.folder / self._name / PB).write_bytes(data)
        return len(data)

    def use(self) -> None:
        use_model(self.folder / self._name)


def use_model(folder: Path) -> None:
    """Load a model, decode all of it, plan every signature; a bad part does not hide others."""
    loaded = saved_model.load(folder)
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
    """Write a sorted table with right checksums; its size."""
    file = io.BytesIO()
    table = TableWriter(file)
    for key in sorted(entries):
        table.add(key, entries[key])
    table.finish()
    path.write_bytes(file.getvalue())
    return len(file.getvalue())


class Index(Target):
    """variables.index: bytes, and entries that are wrong under right checksums."""

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
    """variables.data: what is read is what was written."""

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
    """A checkpoint and the file that says which is the newest."""

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
    """TFRecord, plain and compressed: what is read is the beginning of what was written."""

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
            # A record that was doubled or moved whole is one; any other is an error.
            if record not in self._records:
                raise AssertionError(f"record {number} was read as something else")


TARGETS: tuple[Callable[[Path], Target], ...] = (Messages, Index, Data, Checkpoint, Records)
