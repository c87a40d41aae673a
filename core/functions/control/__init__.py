"""Control flow on tensors: functions of the graph as branches and loops, and their gradients."""

from pinnace.functions.control import expansion as expansion
from pinnace.functions.control.conditional import case as case
from pinnace.functions.control.conditional import cond as cond
from pinnace.functions.control.conditional import switch_case as switch_case
from pinnace.functions.control.looping import while_loop as while_loop
from pinnace.functions.control.mapping import foldl as foldl
from pinnace.functions.control.mapping import foldr as foldr
from pinnace.functions.control.mapping import map_fn as map_fn
from pinnace.functions.control.mapping import scan as scan
from pinnace.functions.control.mapping import vectorized_map as vectorized_map
