"""A table's configuration: read, checked with every fault told at once, and digested.

`loading` reads a file, `settings` and `scanners` are its sections, `problems` tells faults with their lines, `schema`
is for editors, `versions` brings older files up.
"""

from __future__ import annotations

from scannerd.config.loading import load, parse, read

__all__ = ["load", "parse", "read"]
