"""Summaries: the file's content, step by step, eagerly and inside functions."""

import io
import struct
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pinnace as tf
from pinnace import summary
from pinnace.framework.errors import FailedPreconditionError, InvalidArgumentError
from pinnace.graph.codec.tensors import decode_tensor
from pinnace.proto.event_pb2 import Event
from pinnace.proto.graph_pb2 import GraphDef
from pinnace.storage.record import read_records
from pinnace.summary.pictures import encode_png, encode_wav, histogram_rows


def events(folder: Path) -> list[Event]:
    (path,) = folder.iterdir()
    return [Event.FromString(record) for record in read_records(path)]


def values(folder: Path) -> list[tuple[int, str, Any]]:
    return [
        (event.step, value.tag, decode_tensor(value.tensor, "test"))
        for event in events(folder)
        for value in event.summary.value
    ]


@pytest.fixture(autouse=True)
def clean_defaults() -> Any:
    yield
    summary.experimental.set_step(None)


def test_the_file_is_named_and_begins_as_tensorboard_expects(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path)
    (path,) = tmp_path.iterdir()
    parts = path.name.split(".")
    assert path.name.startswith("events.out.tfevents.")
    assert len(parts[3]) == 10
    assert parts[3].isdigit()
    assert path.name.endswith(".v2")
    (first,) = events(tmp_path)
    assert first.file_version == "brain.Event:2"
    assert first.source_metadata.writer
    assert abs(first.wall_time - path.stat().st_mtime) < 60
    writer.close()


def test_scalars(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        assert bool(summary.scalar("loss", 0.5, step=42, description="how *bad*"))
        summary.scalar("count", 3, step=tf.Variable(43))
        with tf.name_scope("train"):
            summary.scalar("loss", tf.constant(1.0, tf.float64), step=np.int64(44))
    found = values(tmp_path)
    assert [(step, tag, float(x), x.dtype.name) for step, tag, x in found] == [
        (42, "loss", 0.5, "float32"),
        (43, "count", 3.0, "float32"),
        (44, "train/loss", 1.0, "float32"),
    ]
    metadata = events(tmp_path)[1].summary.value[0].metadata
    assert metadata.plugin_data.plugin_name == "scalars"
    assert metadata.summary_description == "how *bad*"
    assert metadata.data_class == 1
    writer.close()


def test_nothing_is_written_without_a_writer_or_against_the_condition(tmp_path: Path) -> None:
    assert not bool(summary.scalar("x", 1.0, step=0))
    assert not bool(summary.should_record_summaries())
    writer = summary.create_file_writer(str(tmp_path))
    wanted = False
    with writer.as_default(), summary.record_if(lambda: wanted):
        assert not bool(summary.scalar("x", 1.0, step=0))
        wanted = True
        assert bool(summary.should_record_summaries())
        assert bool(summary.scalar("y", 1.0, step=0))
        with summary.record_if(False):
            assert not bool(summary.write("z", 1.0, step=0))
    with summary.create_noop_writer().as_default():
        assert not bool(summary.scalar("x", 1.0, step=0))
    assert [tag for _, tag, _ in values(tmp_path)] == ["y"]
    writer.close()


def test_the_default_step(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default(step=7):
        summary.scalar("a", 1)
    step = tf.Variable(1, dtype=tf.int64)
    summary.experimental.set_step(step)
    assert summary.experimental.get_step() is step
    with writer.as_default():
        summary.scalar("b", 1)
        step.assign_add(1)
        summary.scalar("c", 1)
        summary.experimental.set_step(None)
        with pytest.raises(ValueError, match="no step is set"):
            summary.scalar("d", 1)
    assert [(s, tag) for s, tag, _ in values(tmp_path)] == [(7, "a"), (1, "b"), (2, "c")]
    writer.close()


def test_a_function_writes_each_time_it_runs(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    step = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def train(x: Any) -> Any:
        with writer.as_default():
            summary.scalar("x", x, step=step)
            summary.histogram("h", tf.stack([x, x + 1.0]), step=step)
            summary.image("i", tf.zeros([1, 2, 3, 1]), step=step)
            summary.text("t", "words", step=step)
        step.assign_add(1)
        return x * 2.0

    train(tf.constant(1.0))
    train(tf.constant(5.0))
    writer.flush()
    found = values(tmp_path)
    assert [(s, tag) for s, tag, _ in found] == [(s, tag) for s in (0, 1) for tag in "xhit"]
    assert [float(x) for _, tag, x in found if tag == "x"] == [1.0, 5.0]
    assert [x.shape for _, tag, x in found if tag == "h"] == [(30, 3)] * 2
    assert train.experimental_get_tracing_count() == 1
    writer.close()


def test_histograms(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default(step=0):
        summary.histogram("h", np.arange(100), buckets=4)
    ((_, _, rows),) = values(tmp_path)
    assert rows.tolist() == [[0, 24.75, 25], [24.75, 49.5, 25], [49.5, 74.25, 25], [74.25, 99, 25]]
    assert events(tmp_path)[1].summary.value[0].metadata.plugin_data.plugin_name == "histograms"
    writer.close()


@given(st.lists(st.floats(-1e6, 1e6), max_size=50), st.integers(1, 40))
def test_a_histogram_counts_every_number_once(numbers: list[float], buckets: int) -> None:
    rows = histogram_rows(np.array(numbers), buckets)
    assert rows.shape == (buckets, 3)
    assert rows[:, 2].sum() == len(numbers)
    assert (rows[:, 0] <= rows[:, 1]).all()
    assert (rows[1:, 0] == rows[:-1, 1]).all()


def test_images_are_png(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    pictures = np.random.default_rng(0).random((4, 5, 7, 3)).astype(np.float32)
    with writer.as_default(step=0):
        summary.image("i", pictures, max_outputs=2)
        with pytest.raises(InvalidArgumentError, match="height, width, channels"):
            summary.image("i", pictures[0])
    ((_, _, strings),) = values(tmp_path)
    assert strings[:2].tolist() == [b"7", b"5"]
    assert len(strings) == 4
    wanted = np.floor(pictures[1].astype(np.float64) * 255 + 0.5).astype(np.uint8)
    np.testing.assert_array_equal(decoded_png(strings[3]), wanted)
    writer.close()


def decoded_png(data: bytes) -> np.ndarray[Any, Any]:
    """The pixels of a PNG with one IDAT chunk and no filters; every checksum is verified."""
    file = io.BytesIO(data)
    assert file.read(8) == b"\x89PNG\r\n\x1a\n"
    chunks = {}
    while head := file.read(8):
        length, kind = struct.unpack(">I4s", head)
        chunks[kind] = file.read(length)
        assert zlib.crc32(kind + chunks[kind]) == struct.unpack(">I", file.read(4))[0]
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[colour]
    assert depth == 8
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, channels)


@given(st.integers(1, 4), st.integers(1, 9), st.integers(1, 9))
def test_a_png_holds_its_pixels(channels: int, height: int, width: int) -> None:
    image = np.random.default_rng(channels).integers(0, 256, (height, width, channels), np.uint8)
    np.testing.assert_array_equal(decoded_png(encode_png(image)), image)


def test_text_audio_and_anything(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default(step=1):
        summary.text("t", [["a", "b"]])
        summary.audio("s", np.zeros((1, 8, 2), np.float32), 8000)
        summary.write("w", lambda: tf.constant([1, 2]))
        with pytest.raises(InvalidArgumentError, match="must be strings"):
            summary.text("t", 1)
        with pytest.raises(InvalidArgumentError, match="must be a scalar"):
            summary.scalar("x", [1, 2])
    found = values(tmp_path)
    assert found[0][2].tolist() == [[b"a", b"b"]]
    assert found[1][2][0, 0][:4] == b"RIFF"
    assert found[2][2].tolist() == [1, 2]
    import wave

    with wave.open(io.BytesIO(encode_wav(np.zeros((8, 2)), 8000))) as sound:
        assert (sound.getnchannels(), sound.getframerate(), sound.getnframes()) == (2, 8000, 8)
    writer.close()


def test_graphs(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    concrete = tf.function(lambda x: x * 2.0).get_concrete_function(tf.TensorSpec([], tf.float32))
    with writer.as_default():
        assert bool(summary.graph(concrete))
        with pytest.raises(TypeError, match="graph or a concrete function"):
            summary.graph(3)
    graph = GraphDef.FromString(events(tmp_path)[1].graph_def)
    assert "Mul" in {node.op for node in graph.node}
    writer.close()


def test_traced_graphs_are_exported(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    double = tf.function(lambda x: x * 2.0)
    with pytest.raises(RuntimeError, match="trace_on"):
        summary.trace_export("t", step=0)
    summary.trace_on(graph=True)
    double(tf.constant(1.0))
    with writer.as_default():
        summary.trace_export("t", step=3)
    event = events(tmp_path)[1]
    assert (event.step, event.summary.value[0].tag) == (3, "t")
    plugin = event.summary.value[0].metadata.plugin_data.plugin_name
    assert plugin == "graph_run_metadata_graph"
    (metadata,) = event.summary.value[0].tensor.string_val
    assert b"Mul" in metadata  # the op of the graph that was called
    writer.close()


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    writer.close()
    writer.close()
    with pytest.raises(FailedPreconditionError, match="is closed"), writer.as_default():
        pass


def test_events_wait_until_the_queue_is_full_or_flushed(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path), max_queue=3)
    writer.set_as_default(step=0)
    summary.scalar("a", 1)
    summary.scalar("b", 1)
    assert values(tmp_path) == []
    summary.flush()
    assert len(values(tmp_path)) == 2
    for tag in "cde":
        summary.scalar(tag, 1)
    assert len(values(tmp_path)) == 5
    writer.close()
    summary.create_noop_writer().set_as_default()


def test_a_writer_that_is_dropped_ends_its_file(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    with writer.as_default(step=0):
        summary.scalar("a", 1)
    del writer
    assert len(values(tmp_path)) == 1


def test_threads_have_their_own_default_and_share_a_file(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path))
    seen: list[bool] = []

    def work(number: int) -> None:
        seen.append(bool(summary.should_record_summaries()))
        with writer.as_default():
            for step in range(20):
                summary.scalar(f"t{number}", step, step=step)

    with writer.as_default():
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == [False] * 4
    found = values(tmp_path)
    for number in range(4):
        assert [s for s, tag, _ in found if tag == f"t{number}"] == list(range(20))
    writer.close()
