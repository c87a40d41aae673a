"""Array code too long for an op's own file: arrays in, arrays out, no registry, no Tensor."""
