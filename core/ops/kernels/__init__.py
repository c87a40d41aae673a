"""Array code too long to stand beside its op: arrays in, arrays out, no registry, no Tensor."""
