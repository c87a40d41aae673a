"""Parts of a plan as machine code: compiled by Numba in a process of its own, and kept."""
