"""`tf.summary.experimental`."""

from pinnace.summary.values import summary_scope as summary_scope
from pinnace.summary.values import write_raw_pb as write_raw_pb
from pinnace.summary.writer import get_step as get_step
from pinnace.summary.writer import set_step as set_step

__all__ = ["get_step", "set_step", "summary_scope", "write_raw_pb"]
