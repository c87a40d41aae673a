"""Random numbers: streams that go on, functions of a seed, generators."""

# A package's names are those of its families.

from pinnace.ops.random import experimental as experimental
from pinnace.ops.random.algorithms import *
from pinnace.ops.random.candidates import *
from pinnace.ops.random.distributions import *
from pinnace.ops.random.generator import *
from pinnace.ops.random.seeds import *
from pinnace.ops.random.shuffling import *
from pinnace.ops.random.stateful import *
from pinnace.ops.random.stateless import *
