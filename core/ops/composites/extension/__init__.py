"""Extension types: a program's own values made of tensors, and ops that know what to do with them.

`fields` says what annotations mean, `specs` and `types` make classes of them, `batching` says how
values become batches and `apis` which function is called instead of one of the library's.
"""
