"""Ops that act on the program: grouping, printing, assertions."""

from pinnace.ops.control.grouping import *
