"""`config.threading`: the numbers of threads."""

from __future__ import annotations

from pinnace.framework.config import (
    get_inter_op_parallelism_threads as get_inter_op_parallelism_threads,
)
from pinnace.framework.config import (
    get_intra_op_parallelism_threads as get_intra_op_parallelism_threads,
)
from pinnace.framework.config import (
    set_inter_op_parallelism_threads as set_inter_op_parallelism_threads,
)
from pinnace.framework.config import (
    set_intra_op_parallelism_threads as set_intra_op_parallelism_threads,
)
