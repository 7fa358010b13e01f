"""A new configuration on a live table's bytes: what it would have decided otherwise, and nobody at the table knows."""
