"""Python's collector of circles of objects, paused while the package is imported.

Imported modules are not garbage: to look through all of them again and again takes a tenth of the
time of an import.
"""

import gc


class Paused:
    """As long as it lives, nothing is collected; it ends also when an import fails."""

    def __init__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __del__(self) -> None:
        if self._was_on:
            gc.enable()
