"""Ops that take functions: calls, conditions, loops."""

from pinnace.ops.functional.calls import *
