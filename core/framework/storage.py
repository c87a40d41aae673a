"""Resource: the storage of a variable, whose value may be shared while it is replaced.

A value is never overwritten while it is visible outside. An optimizer's step `take`s the value that
it replaces and gives it back: other readers wait. The reference count shows whether someone holds
the old value; if not, the step may reuse its memory for the new one, which halves the cache
traffic.

Source:
    CPython, `sys.getrefcount`: exact where the interpreter's lock is; of a build without that lock
    it tells nothing (PEP 703, biased and deferred counts), and nobody has a value alone there.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from threading import get_ident
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pinnace.framework.errors import FailedPreconditionError

if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable

    from pinnace.framework.dtypes import DType
    from pinnace.framework.shapes import Shape
    from pinnace.framework.tensor import Array
    from pinnace.framework.variable import Variable

# A value, and the thread that took it.
_Taken: TypeAlias = "tuple[Array, int]"

# Seconds between polls while waiting for a taken value, and the timeout. A step takes milliseconds;
# but a finalizer that runs in one of the step's own helper threads would wait for the step, and the
# step for it.
_PAUSE_S, _LONGEST_S = 5e-5, 1.0


def _fewest_references() -> int:
    """The reference count of a value that only `_Taken` holds; 0 if counts are not meaningful."""
    is_locked: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    if sys.implementation.name != "cpython" or not is_locked():
        return 0
    taken: _Taken = (np.empty(0), 0)
    return sys.getrefcount(taken[0])


FEWEST = _fewest_references()
# Change numbers, unique across all resources, and the last one.
_numbers = itertools.count(1)
_last = [0]


def last_change() -> int:
    """A number that changes whenever a resource is created or assigned to.

    While it is unchanged, everything derived from any variables is still valid.
    """
    return _last[0]


class Resource:
    """The storage of one variable: an array that assignments replace.

    `version` counts the assignments, so that derived values (packed weights, folded constants) can
    be checked for validity.
    """

    __slots__ = (
        "__weakref__",
        "_array",
        "_taken",
        "dtype",
        "lock",
        "name",
        "owner",
        "shape",
        "source",
        "version",
    )

    def __init__(self, dtype: DType, shape: Shape, name: str = "") -> None:
        self.dtype = dtype
        self.shape = shape
        self.name = name
        self.version = 0
        self.lock = threading.Lock()
        self._array: Array | None = None
        self._taken: _Taken | None = None
        # The Variable this is the storage of, if it is still there.
        self.owner: weakref.ref[Variable] | None = None
        # Reads the stored value on first touch (a mapped checkpoint), then forgotten.
        self.source: Callable[[], Array] | None = None
        _last[0] = next(_numbers)

    @property
    def is_initialized(self) -> bool:
        """Whether there is a value."""
        # The array is read twice, first and last: another thread may give it back in between.
        places = (self._array, self.source, self._taken, self._array)
        return any(place is not None for place in places)

    def has_shape(self, shape: tuple[int, ...]) -> bool:
        """Whether it has a value with this shape; returns without waiting."""
        array = self._array
        return array is not None and array.shape == shape

    def read(self) -> Array:
        """The present value, which must not be written to."""
        array = self._array
        if array is None:
            array = self._awaited()
        return array

    def _awaited(self) -> Array:
        """The value, after waiting until it is given back or reading it for the first time."""
        while True:
            if (taken := self._taken) is not None and not self._comes_back(taken):
                return taken[0]
            with self.lock:
                if self._array is None and self._taken is None:
                    self._array = self._first_value()
                if self._array is not None:
                    return self._array

    def _first_value(self) -> Array:
        if self.source is None:
            raise FailedPreconditionError(
                f"variable {self.name!r} has no value yet: assign one, or load a checkpoint, "
                "before it is read"
            )
        found = self.source()
        self.source = None
        return found

    def write(self, array: Array) -> None:
        """Replace the value. `array` is stored without a copy."""
        if not isinstance(array, np.ndarray):
            array = np.asarray(array)
        self._array = array
        self.source = None
        self._count()

    def _count(self) -> None:
        """Count an assignment."""
        self.version += 1
        _last[0] = next(_numbers)

    def update(self, function: Callable[[Array, Array], Array], operand: Array) -> None:
        """Apply value = function(value, operand), atomically for other threads."""
        while True:
            value = self.read()
            with self.lock:
                taken = self._taken
                if taken is None or taken[1] == get_ident():
                    self._array = np.asarray(
                        function(self._array if self._array is not None else value, operand)
                    )
                    self._count()
                    return
            self._comes_back(taken)

    def take(self, is_alone: Callable[[Array], bool]) -> tuple[Array, bool]:
        """The value for a step that replaces it by `give_back`: one step for other threads.

        Args:
            is_alone: whether an array to which there is no other reference has its memory alone.

        Returns:
            The value, and whether it may be overwritten, which becomes visible when it is given
            back.
        """
        while True:
            with self.lock:
                taken = self._taken
                if taken is None and self._array is not None:
                    self._taken = taken = (self._array, get_ident())
                    # From here on no new reader gets it. The count must not include a local name:
                    # some Python versions do not count a frame's references.
                    self._array = None
                    is_last = sys.getrefcount(taken[0]) <= FEWEST
                    return taken[0], is_last and is_alone(taken[0])
            if taken is None:
                self.read()
            elif taken[1] == get_ident():
                return taken[0], False
            else:
                self._comes_back(taken)

    def give_back(self, array: Array) -> None:
        """Replace the taken value, possibly by the same array with new content."""
        self._array = array
        self.source = None
        self._count()
        taken = self._taken
        if taken is not None and taken[1] == get_ident():
            self._taken = None

    def _comes_back(self, taken: _Taken) -> bool:
        """Wait until the value is given back; False if it cannot be, or its thread has ended."""
        if taken[1] == get_ident():
            return False
        end = time.perf_counter() + _LONGEST_S
        while self._taken is taken:
            if time.perf_counter() > end:
                with self.lock:
                    if self._taken is taken:
                        self._taken = None
                        if self._array is None:
                            self._array = taken[0]
                return False
            time.sleep(_PAUSE_S)
        return True

    def __getstate__(self) -> tuple[DType, Shape, str, int, Array | None]:
        """The state for pickle, including the value; a copy is separate and has its own lock."""
        value = self.read() if self.is_initialized else None
        return self.dtype, self.shape, self.name, self.version, value

    def __setstate__(self, state: tuple[DType, Shape, str, int, Array | None]) -> None:
        dtype, shape, name, version, value = state
        self.__init__(dtype, shape, name)  # type: ignore[misc]  # it was made without
        self.version, self._array = version, value

    def __repr__(self) -> str:
        return f"<Resource {self.name!r} {self.dtype.name}{self.shape} version {self.version}>"
