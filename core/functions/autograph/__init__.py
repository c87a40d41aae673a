"""AutoGraph: Python control flow on tensors becomes ops. `pinnace.autograph` is this package."""

from pinnace.functions.autograph import experimental as experimental
from pinnace.functions.autograph.conversion import do_not_convert as do_not_convert
from pinnace.functions.autograph.conversion import to_code as to_code
from pinnace.functions.autograph.conversion import to_graph as to_graph
from pinnace.functions.autograph.options import set_verbosity as set_verbosity
from pinnace.functions.autograph.options import trace as trace
