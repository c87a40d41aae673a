"""Ops on datasets and iterators, for functions traced here and for loaded graphs."""

from pinnace.ops.dataset import batching as batching
from pinnace.ops.dataset import counting as counting
from pinnace.ops.dataset import earlier as earlier
from pinnace.ops.dataset import files as files
from pinnace.ops.dataset import grouping as grouping
from pinnace.ops.dataset import handles as handles
from pinnace.ops.dataset import iterators as iterators
from pinnace.ops.dataset import mapping as mapping
from pinnace.ops.dataset import mixing as mixing
from pinnace.ops.dataset import shuffling as shuffling
from pinnace.ops.dataset import sources as sources
