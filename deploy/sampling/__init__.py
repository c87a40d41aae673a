"""Sample inputs on which exported files are compared, and pinnace's outputs for them.

`samples` draws inputs, in `styles` that models require and with the `numbers` that a graph demands;
`corners` are inputs that are never drawn at random; `reference` runs the model in pinnace.
"""
