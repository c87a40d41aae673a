"""Networks: many steps of a plan as one table that one compiled function interprets.

Steps whose weights are constant (`steady`) become layers (`layers`): products, windows and
elementwise programs, with their epilogues. Layers get memory (`memory`) and become rows of a table
of numbers (`table`), which the kernel (`codegen.walking`) executes in order; threads take pieces of
a row as they become free. `region` is what a plan calls. The kernel is the same for every network:
nothing is compiled for one model.
"""
