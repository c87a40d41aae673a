"""Output to files: printed lines, events."""

import tempfile
from pathlib import Path
from typing import Any


def printed(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """Lines printed into a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "lines.txt")
        for text in (tf.strings.as_string(x[0, 0]), tf.constant("end")):
            ops.PrintV2(input=text, output_stream=f"file://{path}", end=".\n")
        return [ops.ReadFile(filename=tf.constant(path))]


def events(tf: Any, ops: Any, x: Any, _: Any) -> list[Any]:
    """The files of a summary writer, except for the times."""
    with tempfile.TemporaryDirectory() as folder:
        writer = tf.summary.create_file_writer(folder, filename_suffix=".v2")
        handle = ops.handle_of(writer)
        with writer.as_default(step=3):
            tf.summary.write("raw", x, step=5)
            tf.summary.write("words", tf.strings.as_string(x[0]))
            # A Summary with the value 0.5 of the tag "a".
            tf.summary.experimental.write_raw_pb(b"\n\x08\n\x01a\x15\x00\x00\x00?")
        # An empty GraphDef.
        ops.WriteGraphSummary(writer=handle, step=tf.constant(6, tf.int64), tensor=tf.constant(b""))
        writer.flush()
        ops.CloseSummaryWriter(writer=handle)
        files = tf.io.matching_files(str(Path(folder) / "*.v2"))
        named = tf.data.TFRecordDataset(files)  # the first record names the writer
        # Field 1, the time, is the first nine bytes of each.
        times, most = tf.constant(9), tf.constant(1 << 20)
        return [ops.Substr(input=one, pos=times, len=most) for one in named.skip(1)]
