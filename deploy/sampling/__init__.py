"""Inputs that an exported file is compared on, and pinnace's answers to them.

`samples` are drawn, in the `styles` that models take and with the `numbers` that a graph demands;
`corners` are inputs that a draw never gives; `reference` is how pinnace runs the model.
"""
