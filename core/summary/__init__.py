"""`tf.summary`: summaries for TensorBoard."""

from pinnace.summary import experimental as experimental
from pinnace.summary.graphs import graph as graph
from pinnace.summary.graphs import trace_export as trace_export
from pinnace.summary.graphs import trace_off as trace_off
from pinnace.summary.graphs import trace_on as trace_on
from pinnace.summary.values import audio as audio
from pinnace.summary.values import histogram as histogram
from pinnace.summary.values import image as image
from pinnace.summary.values import scalar as scalar
from pinnace.summary.values import text as text
from pinnace.summary.values import write as write
from pinnace.summary.writer import SummaryWriter as SummaryWriter
from pinnace.summary.writer import create_file_writer as create_file_writer
from pinnace.summary.writer import create_noop_writer as create_noop_writer
from pinnace.summary.writer import flush as flush
from pinnace.summary.writer import record_if as record_if
from pinnace.summary.writer import should_record_summaries as should_record_summaries

__all__ = [
    "SummaryWriter",
    "audio",
    "create_file_writer",
    "create_noop_writer",
    "experimental",
    "flush",
    "graph",
    "histogram",
    "image",
    "record_if",
    "scalar",
    "should_record_summaries",
    "text",
    "trace_export",
    "trace_off",
    "trace_on",
    "write",
]
