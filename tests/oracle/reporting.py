"""The end of a file of programs: runs each, and prints what they give; see `both`."""

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def plain(x: Any) -> Any:
    """A result as JSON has it: tensors and arrays become lists."""
    if isinstance(x, dict):
        return {str(key): plain(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if x is None or isinstance(x, (str, bool, int, float)):
        return x
    return np.asarray(x).tolist()


def report(
    programs: Mapping[str, Callable[[], Any]], made_plain: Callable[[Any], Any] = lambda x: x
) -> None:
    """Run the programs in the folder that the command line names, and print the last line.

    Args:
        programs: the file's `PROGRAMS`; an exception of one is its result.
        made_plain: makes JSON of a result.
    """
    warnings.simplefilter("ignore")
    os.chdir(sys.argv[2])
    found = {}
    for name, program in programs.items():
        try:
            found[name] = made_plain(program())
        except Exception as error:
            found[name] = f"error: {type(error).__name__}: {error}"
    sys.stdout.write("\n" + json.dumps(found, default=bool) + "\n")
