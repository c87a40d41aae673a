"""The page for people, the description of the interface, and what both are made of."""
