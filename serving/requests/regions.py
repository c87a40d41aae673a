"""Shared memory of this machine that clients register by name: Triton's system shared memory.

A region is read and written through its file, not mapped, since a client that truncates its object
would end a process that has it mapped.
Source: docs/reference/serving_api.md 4.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinnace.framework.errors import (
    AlreadyExistsError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
    UnimplementedError,
)
from pinnace.serving.requests.expansion import ALLOWANCE, PIECE_BYTES, check_expansion

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "/dev/shm"
MOST_REGIONS = 256
_MOST_BYTES = 2**63 - 1
_MOST_NAME = 255
# POSIX: one word, optionally after a slash. Names that begin with a dot are not clients' objects.
_KEY = re.compile(r"/?([^/.\0][^/\0]{0,254})")
_MEMORY = ("shared_memory_region", "shared_memory_byte_size", "shared_memory_offset")
_SHOWN = 80


class _Descriptor:
    """An open file, closed when no reader or writer refers to it any more."""

    _close = staticmethod(os.close)  # `os` is cleared before this at the end of the interpreter

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        self._close(self.number)


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a shared memory object.

    Attributes:
        name: the name that clients gave it.
        key: the object's name.
        offset: its offset in the object.
        byte_size: its length.
        file: the object.
    """

    name: str
    key: str
    offset: int
    byte_size: int
    file: _Descriptor


@dataclass(frozen=True, slots=True)
class TensorInRegion:
    """A tensor's position in a shared memory region.

    Attributes:
        region: the region's name.
        offset: the offset of the first byte in the region.
        byte_size: its size, or the space for it.
    """

    region: str
    offset: int
    byte_size: int

    def parameters(self, size: int) -> dict[str, str | int]:
        """Return the reply's parameters for a tensor of this size that was written there."""
        found: dict[str, str | int] = {
            "shared_memory_region": self.region,
            "shared_memory_byte_size": size,
        }
        return {**found, "shared_memory_offset": self.offset} if self.offset else found


class Regions:
    """The registered regions. Any thread may use this."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._regions: dict[str, Region] = {}

    @property
    def largest(self) -> int:
        """Bytes of the largest region; 0 if there is none."""
        return max((region.byte_size for region in self.named()), default=0)

    def named(self, name: str = "") -> list[Region]:
        """Return the region with a name, or all regions.

        Raises:
            NotFoundError: no region has this name.
        """
        with self._lock:
            if not name:
                return list(self._regions.values())
            if name not in self._regions:
                raise NotFoundError(f"Unable to find system shared memory region: '{_shown(name)}'")
            return [self._regions[name]]

    def register(self, name: str, key: str, offset: int, byte_size: int) -> None:
        """Open a part of a shared memory object.

        Raises:
            AlreadyExistsError: a region with this name exists.
            InvalidArgumentError: the object is too short, or its name is invalid.
            InternalError: the object cannot be opened.
            ResourceExhaustedError: there are too many regions.
        """
        if not name or len(name) > _MOST_NAME:
            raise InvalidArgumentError(
                f"the name of a shared memory region must have 1 to {_MOST_NAME} letters, "
                f"got {len(name)}"
            )
        with self._lock:
            if name in self._regions:
                raise AlreadyExistsError(
                    f"shared memory region '{_shown(name)}' already in manager"
                )
            if len(self._regions) >= MOST_REGIONS:
                raise ResourceExhaustedError(
                    f"{MOST_REGIONS} shared memory regions are registered, which is the limit\n"
                    "  Try: unregister those that are not used"
                )
            file = _opened(key)
            whole = os.fstat(file.number).st_size
            is_part = offset >= 0 and byte_size > 0 and offset + byte_size <= whole
            if not is_part:
                raise InvalidArgumentError(
                    f"failed to register shared memory region '{_shown(name)}': invalid args: "
                    f"{byte_size} bytes at {offset} are not in an object of {whole} bytes"
                )
            self._regions[name] = Region(name, key, offset, byte_size, file)

    def unregister(self, name: str = "") -> None:
        """Unregister a region, or all; a read or write in progress is completed."""
        with self._lock:
            if name:
                self._regions.pop(name, None)
            else:
                self._regions.clear()

    def read(self, place: TensorInRegion) -> memoryview:
        """Return a copy of the bytes at a place.

        Raises:
            NotFoundError: the region does not exist.
            InvalidArgumentError: the place is not within the region.
        """
        region = self._around(place)
        found = memoryview(bytearray(place.byte_size))
        done = 0
        while done < place.byte_size:
            at = region.offset + place.offset + done
            count = os.preadv(region.file.number, [found[done : done + PIECE_BYTES]], at)
            if not count:
                raise InvalidArgumentError(
                    f"the object '{_shown(region.key)}' of shared memory region "
                    f"'{_shown(region.name)}' has become shorter than the region"
                )
            done += count
        return found

    def write(self, output: str, place: TensorInRegion, data: bytes) -> None:
        """Write an output to a place.

        Raises:
            NotFoundError: the region does not exist.
            InvalidArgumentError: the place is not within the region.
            InternalError: the output is larger than the place.
        """
        region = self._around(place)
        if len(data) > place.byte_size:
            raise InternalError(
                "shared memory size specified with the request for output "
                f"'{_shown(output)}' ({place.byte_size} bytes) should be at least {len(data)} "
                "bytes to hold the results"
            )
        first = region.offset + place.offset
        if os.fstat(region.file.number).st_size < first + len(data):  # writing would extend it
            raise InvalidArgumentError(
                f"the object '{_shown(region.key)}' of shared memory region "
                f"'{_shown(region.name)}' has become shorter than the region"
            )
        view = memoryview(data)
        done = 0
        while done < len(view):
            piece = view[done : done + PIECE_BYTES]
            done += os.pwrite(region.file.number, piece, first + done)

    def _around(self, place: TensorInRegion) -> Region:
        with self._lock:
            region = self._regions.get(place.region)
        if region is None:
            raise NotFoundError(f"Unable to find shared memory region: '{_shown(place.region)}'")
        if place.offset >= region.byte_size:
            raise InvalidArgumentError(
                f"Invalid offset for shared memory region: '{_shown(region.name)}'"
            )
        if place.offset + place.byte_size > region.byte_size:
            raise InvalidArgumentError(
                f"Invalid offset + byte size for shared memory region: '{_shown(region.name)}'"
            )
        return region


def regions() -> Regions:
    """Return the regions for the request that this thread works for.

    Raises:
        UnimplementedError: the server has no regions.
    """
    found: Regions | None = ALLOWANCE.regions
    if found is None:
        raise no_regions()
    return found


def no_regions() -> UnimplementedError:
    """Return the error of a server without regions."""
    return UnimplementedError(
        "shared memory is disabled\n  Try: send the values as bytes, or "
        "pinnace serve --shared_memory, for clients on its machine"
    )


def no_gpu(name: str) -> InvalidArgumentError:
    """Return the error for memory of a GPU, with Triton's status and wording."""
    return InvalidArgumentError(
        f"failed to register CUDA shared memory region: '{_shown(name)}', GPUs not supported"
    )


def place_of(whose: str, parameters: Mapping[str, object]) -> TensorInRegion | None:
    """Return a tensor's position in shared memory, from its parameters; None if it has none.

    Args:
        whose: the owner of the parameters, for messages.
        parameters: the tensor's parameters.

    Raises:
        InvalidArgumentError: a parameter has the wrong type.
        UnimplementedError: the server has no regions.
    """
    if not any(name in parameters for name in _MEMORY):
        return None
    try:
        regions()
    except UnimplementedError as error:
        named = next(name for name in _MEMORY if name in parameters)
        raise UnimplementedError(
            f"parameter '{named}' of {whose} is not supported: {error.message}"
        ) from None
    name, size, offset = _MEMORY
    region = parameters.get(name)
    if not isinstance(region, str):
        raise InvalidArgumentError(f"'{name}' of {whose} must be a name")
    begin = _bytes(f"'{offset}' of {whose}", parameters.get(offset, 0))
    return TensorInRegion(region, begin, _bytes(f"'{size}' of {whose}", parameters.get(size)))


def _bytes(what: str, number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _MOST_BYTES:
        raise InvalidArgumentError(f"{what} must be a number of bytes, got {str(number)[:_SHOWN]}")
    return number


def read_places(places: Mapping[str, TensorInRegion]) -> dict[str, memoryview]:
    """Return the bytes of inputs, by name.

    Raises:
        RequestTooLargeError: they exceed the limit of a request.
    """
    if not places:
        return {}
    check_expansion(
        sum(place.byte_size for place in places.values()), "the inputs in shared memory"
    )
    return {name: regions().read(place) for name, place in places.items()}


def _opened(key: str) -> _Descriptor:
    """Open a shared memory object.

    Raises:
        InvalidArgumentError: the name is invalid.
        InternalError: the object cannot be opened.
    """
    match = _KEY.fullmatch(key)
    if match is None:
        raise InvalidArgumentError(
            f"the key of shared memory must be the name of an object in {FOLDER}, without "
            f"slashes except one before it, got '{_shown(key)}'"
        )
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = _Descriptor(os.open(f"{FOLDER}/{match[1]}", flags))
    except OSError:
        raise InternalError(f"Unable to open shared memory region: '{_shown(key)}'") from None
    if not stat.S_ISREG(os.fstat(file.number).st_mode):
        raise InternalError(f"Unable to open shared memory region: '{_shown(key)}'")
    return file


def _shown(text: str) -> str:
    return text[:_SHOWN]
