"""The general kernels, their sources, and the tables and programs that they run for a plan."""
