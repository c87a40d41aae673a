"""Smaller files: weights in float16 or int8, or everything quantised.

`weights` changes constants only, `ranges` measures value ranges on examples, `whole` quantises to
8 or 16 bits where `kernels` lists kernels, `forms` chooses the form and measures its error.
"""
