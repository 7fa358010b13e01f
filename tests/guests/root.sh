#!/bin/bash
# Makes a Debian 12 tree with systemd and mosquitto, and what the package depends on: root.sh FOLDER (one minute).
# Needs root, apt and debootstrap. One that is there already is used again.
set -euo pipefail
umask 022
root=$1
packages=systemd,systemd-sysv,dbus,udev,kmod,procps,python3,libusb-1.0-0,man-db,mosquitto,mosquitto-clients

key=$(sha256sum <"${BASH_SOURCE[0]}")
[ "$(cat "$root/.made" 2>/dev/null)" = "$key" ] && exit 0
rm -rf "$root"
mkdir -p "$(dirname "$root")"
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' | awk '$2 == "bookworm" {print $1; exit}')
debootstrap --variant=minbase --include="$packages" bookworm "$root" "${mirror:-http://deb.debian.org/debian}" \
    >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
rm -f "$root"/var/cache/apt/archives/*.deb
echo table >"$root/etc/hostname"
echo 127.0.0.1 localhost table >"$root/etc/hosts"
: >"$root/etc/machine-id"
chroot "$root" systemctl -q disable mosquitto.service man-db.timer apt-daily.timer apt-daily-upgrade.timer \
    dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer
echo "$key" >"$root/.made"
