"""The Debian package under a real systemd, in a container: `make test-package`; needs root, apt and systemd-nspawn.

The package is built twice, as it is and with a higher version, and installed in a Debian tree that lives for one run.
A shoe on a serial server deals there. No device is plugged: that is what `make test-vm` is for.

Where no container can be started, that is said and the status is 0; with SCANNERD_CONTAINER=required it is 1.
What is made is kept below `$SCANNERD_LAB` (/var/tmp/scannerd-lab).
"""
