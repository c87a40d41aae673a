"""Recognition of loops that compute recurrent layers.

`sums` is a normal form of a loop body, `cells` finds the cells of layers in it, `loops` interprets
the ops of a program's loops. Formats with recurrent operators use them.
"""
