"""scannerd in a machine of its own, with real device nodes: `make test-vm`; needs root and apt.

QEMU runs Debian 12 with systemd, udev and mosquitto. The daemon runs there under its own unit, unprivileged, and reads
scanners that are plugged and pulled under it: a USB serial adapter and a keyboard of QEMU's, and gadgets that the
guest's kernel makes of software (CDC-ACM, HID POS). No KVM is used, so the guest's Python is ten times slower than
ours: what is checked is behaviour, with generous bounds.

The daemon comes from the package, which is upgraded, removed and purged in the end.

The steps run here and ask the guest for what they need; each check prints a line, `ok` or `FAILED`. What the machine is
made of is kept below `$SCANNERD_LAB` (/var/tmp/scannerd-lab). A run takes ten minutes, the first one three more.
"""
