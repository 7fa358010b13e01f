"""The tests of scannerd."""
