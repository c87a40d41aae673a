"""Ops of TensorFlow Text that models of language hold: normal forms, splitting, word pieces."""

from pinnace.ops.text import normalization as normalization
from pinnace.ops.text import splitting as splitting
from pinnace.ops.text import trimming as trimming
from pinnace.ops.text import wordpieces as wordpieces
