"""Which layouts the results of ops have: rules by the names of ops, and graphs node by node."""
