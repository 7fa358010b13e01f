"""`python -m scannerd` is `scannerd`."""

from __future__ import annotations

from scannerd.cli import main

if __name__ == "__main__":
    main()
