"""Ops with state: variables and what optimizers do to them."""

from pinnace.ops.state.updates import *
from pinnace.ops.state.variables import *
