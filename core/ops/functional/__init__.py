"""Ops that take functions: calls, conditions, loops."""

from pinnace.ops.functional import conditions as conditions
from pinnace.ops.functional import loops as loops
from pinnace.ops.functional.calls import *
from pinnace.ops.functional.python_calls import *
