"""Extension types: user-defined classes made of tensors, and dispatch of ops on them.

`fields` interprets annotations, `specs` and `types` create classes from them, `batching` says how
values are batched and `apis` which functions replace the library's.
"""
