"""Requests that a proxy and the server could parse differently, sent through real proxies."""
