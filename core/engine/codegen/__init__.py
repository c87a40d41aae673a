"""Machine code for parts of a plan, compiled by Numba in a process of its own and cached."""
