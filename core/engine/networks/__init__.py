"""Networks: many steps of a plan as one table that one compiled function walks.

Steps whose weights keep their values (`steady`) become layers (`layers`): products, windows and
elementwise programs, with what follows them in the same layer. Layers get memory (`memory`) and
become rows of a table of numbers (`table`), which the kernel (`codegen.walking`) goes through from
the first to the last, threads taking pieces of a row as they are free. `region` is what a plan
calls. The kernel is the same for every network: nothing is compiled for one model.
"""
