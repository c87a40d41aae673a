"""Ops with state: variables, and optimizer steps on them."""

from pinnace.ops.state import scatters as scatters
from pinnace.ops.state import stacks as stacks
from pinnace.ops.state import tables as tables
from pinnace.ops.state import tensor_arrays as tensor_arrays
from pinnace.ops.state import tensor_lists as tensor_lists
from pinnace.ops.state.updates import *
from pinnace.ops.state.variables import *
