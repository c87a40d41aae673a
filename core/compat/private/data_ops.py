"""Datasets and their iterators, under the names of version 2's classes."""

from pinnace.data.dataset import Dataset as DatasetV2
from pinnace.data.iterator import DatasetIterator as IteratorBase
from pinnace.data.iterator import DatasetIterator as OwnedIterator

__all__ = ["DatasetV2", "IteratorBase", "OwnedIterator"]
