"""Usage pages of HID devices: what a report descriptor says that its reports are for."""

from __future__ import annotations

BAR_CODE_SCANNER = 0x8C
"""The usage page of bar code scanners (HID Point of Sale Usage Tables 1.02)."""

_LONG_ITEM = 0xFE
_USAGE_PAGE = 0x04  # type global, tag 0; the two lowest bits are the size


def usage_pages(descriptor: bytes) -> frozenset[int]:
    """The usage pages that a report descriptor names (HID 1.11, section 6.2.2); of a torn one those before the tear."""
    pages: set[int] = set()
    at = 0
    while at < len(descriptor):
        prefix = descriptor[at]
        size = _size(descriptor, at)
        if prefix & 0xFC == _USAGE_PAGE:
            pages.add(int.from_bytes(descriptor[at + 1 : at + 1 + size], "little"))
        at += 1 + size
    return frozenset(pages)


def _size(descriptor: bytes, at: int) -> int:
    """How many bytes of data follow the prefix at `at`."""
    prefix = descriptor[at]
    if prefix == _LONG_ITEM:
        return 2 + (descriptor[at + 1] if at + 1 < len(descriptor) else 0)
    return (0, 1, 2, 4)[prefix & 0x03]
