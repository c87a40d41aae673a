"""What a proxy and the server could read differently, sent through real ones."""
