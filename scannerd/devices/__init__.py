"""What is plugged into this machine and might be a scanner, read from sysfs; no device is opened.

`look` finds, `advice` says what to write into the configuration and into a file of udev rules. Both take the root of
the file system, so that a copied tree of another machine can be looked at.
"""
