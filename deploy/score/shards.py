"""The share of the parts that a process does: `--shard`, and the variables of schedulers."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pinnace.framework.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORM = re.compile(r"(?P<index>[0-9]+|auto)(?:/(?P<count>[0-9]+))?", re.ASCII)
_KUBERNETES = "JOB_COMPLETION_INDEX"
_SLURM, _SLURM_COUNT = "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"
_SLURM_FIRST, _SLURM_STEP = "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"


def parse_shard(text: str, environment: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Parse a share: its index, from 0, and the number of shares.

    Args:
        text: `3/16`; `auto/16`, with the index from a Kubernetes Indexed Job or a Slurm array; or
            `auto`, with both numbers from Slurm.
        environment: the process's environment variables.

    Raises:
        InvalidArgumentError: the text has another form, the index is not below the count, or the
            environment lacks the numbers.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None or (match["index"] != "auto" and match["count"] is None):
        raise InvalidArgumentError(
            f"--shard must be I/N, such as 3/16, or auto/N, or auto; got {text!r}"
        )
    if match["index"] == "auto":
        index, count = _from_environment(environment)
        count = int(match["count"]) if match["count"] else count
    else:
        index, count = int(match["index"]), int(match["count"])
    if count is None:
        raise InvalidArgumentError(
            f"--shard {text}: {_KUBERNETES} gives the index of the share, but not the number of "
            "shares\n  Try: --shard auto/N with the completions of the Job"
        )
    if not 0 <= index < count:
        raise InvalidArgumentError(
            f"--shard {text}: the index is counted from 0 and must be below {count}, got {index}"
        )
    return index, count


def _from_environment(environment: Mapping[str, str]) -> tuple[int, int | None]:
    try:
        if _KUBERNETES in environment:
            return int(environment[_KUBERNETES]), None
        if _SLURM in environment:
            first = int(environment.get(_SLURM_FIRST, "0"))
            step = int(environment.get(_SLURM_STEP, "1")) or 1
            count = environment.get(_SLURM_COUNT)
            index = (int(environment[_SLURM]) - first) // step
            return index, None if count is None else int(count)
    except ValueError as error:
        raise InvalidArgumentError(f"--shard: the environment has no number: {error}") from None
    raise InvalidArgumentError(
        f"--shard auto: neither {_KUBERNETES} (Kubernetes) nor {_SLURM} (Slurm) is set\n"
        "  Try: --shard I/N"
    )
