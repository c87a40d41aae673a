"""Machine code for parts of a plan, compiled by Numba in the background and cached on disk."""
