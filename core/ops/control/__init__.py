"""Ops with an effect on the program: grouping, printing, assertions."""

from pinnace.ops.control import assertions as assertions
from pinnace.ops.control import printing as printing
from pinnace.ops.control.clocks import timestamp as timestamp
from pinnace.ops.control.grouping import *
