"""The options of saving and loading; names and defaults are TensorFlow's."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pinnace.framework.no_effect import ignored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LARGEST_READ = 1 << 26


@dataclass(eq=False, slots=True)
class SaveOptions:
    """Options of `save`.

    Attributes:
        namespace_whitelist: prefixes `Name>` of custom ops that may be written; None allows all.
        save_debug_info: accepted; no debug information is written.
        function_aliases: name -> function; written beside the graph.
        experimental_debug_stripper: accepted; there is nothing to strip.
        experimental_io_device: accepted; there is one machine.
        experimental_variable_policy: accepted; there is one copy of each variable.
        experimental_custom_gradients: whether the gradients of `custom_gradient` are written;
            without them, a loaded function that has one has no gradient.
        experimental_image_format: accepted; the split format is not written.
        experimental_skip_saver: leave out the nodes that save and restore.
        experimental_sharding_callback: accepted; see `max_shard_bytes`.
        extra_tags: tags beside `serve`.
        max_shard_bytes: begin another file of variables before one would grow beyond this.
    """

    namespace_whitelist: Sequence[str] | None = None
    save_debug_info: bool = False
    function_aliases: Mapping[str, Any] | None = None
    experimental_debug_stripper: bool = False
    experimental_io_device: str | None = None
    experimental_variable_policy: object = None
    experimental_custom_gradients: bool = True
    experimental_image_format: bool = False
    experimental_skip_saver: bool = False
    experimental_sharding_callback: Callable[..., Any] | None = None
    extra_tags: Sequence[str] | None = None
    max_shard_bytes: int | None = None

    def __post_init__(self) -> None:
        """Log the options that have no effect."""
        ignored(
            "SaveOptions",
            "a model is written in one way, on one machine",
            experimental_io_device=self.experimental_io_device,
            experimental_variable_policy=self.experimental_variable_policy,
            experimental_sharding_callback=self.experimental_sharding_callback,
        )
        why = "it is not written"
        ignored("SaveOptions", why, False, save_debug_info=self.save_debug_info)
        ignored("SaveOptions", why, False, experimental_image_format=self.experimental_image_format)


@dataclass(eq=False, slots=True)
class LoadOptions:
    """Options of `load`.

    Attributes:
        allow_partial_checkpoint: variables without a stored value are left without one instead of
            being an error.
        experimental_io_device: accepted; there is one machine.
        experimental_skip_checkpoint: leave all variables without a value.
        experimental_variable_policy: accepted; there is one copy of each variable.
        experimental_load_function_aliases: give the loaded object `function_aliases`.
        allow_io: let the model's ops access files outside its folder, print, and run Python; only
            for trusted models.
        verify: compare every variable with its checksum now, not when it is first read, and also
            a large graph with TensorFlow's fingerprint.
        map_weights: map the files of variables instead of reading them: processes share the memory,
            and unused values are never read, but overwriting or truncating a file in place changes
            values or ends the process. None maps files above 64 MB.
        max_run_bytes: limit of the memory that arrays may take while the model's initialiser of
            version 1, which fills tables, runs on loading. 0 for no limit.
    """

    allow_partial_checkpoint: bool = False
    experimental_io_device: str | None = None
    experimental_skip_checkpoint: bool = False
    experimental_variable_policy: object = None
    experimental_load_function_aliases: bool = False
    allow_io: bool = False
    verify: bool = False
    map_weights: bool | None = None
    max_run_bytes: int = 0

    @property
    def largest_read(self) -> int:
        """Files of variables up to this many bytes are read, not mapped."""
        return _LARGEST_READ if self.map_weights is None else 0 if self.map_weights else sys.maxsize

    def __post_init__(self) -> None:
        """Log the options that have no effect."""
        ignored(
            "LoadOptions",
            "there is one machine, and one copy of a variable",
            experimental_io_device=self.experimental_io_device,
            experimental_variable_policy=self.experimental_variable_policy,
        )
