"""Fewer bits: weights in half precision or in 8 bits, or everything in whole numbers.

`weights` changes constants alone, `ranges` finds how large numbers become on examples, `whole`
computes in 8 or 16 bits where `kernels` says that there are kernels, `forms` chooses and measures
what it costs.
"""
