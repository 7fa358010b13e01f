"""The deal, and nothing else: pure, without clock, file, socket, thread or logger; only the standard library."""
