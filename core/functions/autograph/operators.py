"""The operators of converted code: Python's statements on known values, ops on symbolic ones.

Each subject has its own module; this one has the names that malt's converters emit, with the
expected signatures. None of it needs malt.
"""

from pinnace.functions.autograph.booleans import and_ as and_
from pinnace.functions.autograph.booleans import assert_stmt as assert_stmt
from pinnace.functions.autograph.booleans import eq as eq
from pinnace.functions.autograph.booleans import not_ as not_
from pinnace.functions.autograph.booleans import not_eq as not_eq
from pinnace.functions.autograph.booleans import or_ as or_
from pinnace.functions.autograph.branching import if_exp as if_exp
from pinnace.functions.autograph.branching import if_stmt as if_stmt
from pinnace.functions.autograph.iteration import for_stmt as for_stmt
from pinnace.functions.autograph.iteration import register_iteration as register_iteration
from pinnace.functions.autograph.loops import run_loop as run_loop
from pinnace.functions.autograph.loops import while_stmt as while_stmt
from pinnace.functions.autograph.python_functions import OVERLOADS as OVERLOADS
from pinnace.functions.autograph.python_functions import (
    register_python_functions as register_python_functions,
)
from pinnace.functions.autograph.variables import Undefined as Undefined
from pinnace.functions.autograph.variables import UndefinedReturnValue as UndefinedReturnValue
from pinnace.functions.autograph.variables import ld as ld
from pinnace.functions.autograph.variables import ldu as ldu
