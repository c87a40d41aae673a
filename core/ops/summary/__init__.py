"""Ops that write summaries."""

from pinnace.ops.summary import writing as writing
