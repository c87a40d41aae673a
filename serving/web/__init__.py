"""The page for people, the OpenAPI description, and their data."""
