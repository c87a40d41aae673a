"""A version's calls, from a queue to the kernels.

A `call` of a signature (`signatures`, `feeds`) waits in its lane (`lanes`), which joins it with
others (`batching`, `packed_rows`) into one of the `runs`: on the event loop or in `threads`,
depending on `run_times`, and within `limits`.
"""
