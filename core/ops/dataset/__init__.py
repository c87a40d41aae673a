"""Ops on datasets and iterators that a traced function uses."""

from pinnace.ops.dataset import iterators as iterators
