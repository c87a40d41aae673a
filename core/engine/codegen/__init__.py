"""Parts of a plan as machine code, made by Numba in the background and kept in the cache folder."""
