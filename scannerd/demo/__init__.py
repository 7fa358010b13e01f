"""A table without hardware: a broker on loopback, the daemon on a packaged recording, and who follows them."""

from __future__ import annotations

from scannerd.demo.rounds import run

__all__ = ["run"]
