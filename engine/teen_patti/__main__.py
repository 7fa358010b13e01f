"""`python -m teen_patti` is the command `teen-patti-engine`."""

from __future__ import annotations

from teen_patti.cli import main

if __name__ == "__main__":
    main(prog_name="teen-patti-engine")
