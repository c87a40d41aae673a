"""Loops that are recurrent layers, recognised by what they compute.

`sums` is a normal form of a loop body, `cells` finds the cells of layers in it, `loops` knows the
ops of a program's loops. Formats that have recurrent operators write these.
"""
