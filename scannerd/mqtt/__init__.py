"""What the publisher is made of, apart from paho itself: windows, retained topics, addresses, back-off, alarms.

Nothing in this package imports paho: `scannerd.publisher` joins these parts to it.
"""
