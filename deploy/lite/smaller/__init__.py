"""Fewer bits: weights in half precision or in 8 bits, or everything in 8 bits.

`weights` changes constants alone, `ranges` finds how large numbers become on examples, `whole`
computes in 8 bits, `forms` chooses and measures what it costs.
"""
