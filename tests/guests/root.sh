#!/bin/bash
# Makes a tree of this machine's own Debian release with systemd and mosquitto, and what the package depends on:
#   root.sh FOLDER      one minute; one that is there already is used again
# Needs root, apt and debootstrap.
set -euo pipefail
umask 022
root=$1
packages=systemd,systemd-sysv,dbus,udev,kmod,procps,python3,libusb-1.0-0,man-db,mosquitto,mosquitto-clients

. /etc/os-release
[ "$ID" = debian ] || { echo "this is no Debian, for which the package is"; exit 1; }
mkdir -p "$(dirname "$root")"
exec 9>"$root.lock"
flock 9
key=$(cat "${BASH_SOURCE[0]}" <(echo "$VERSION_CODENAME") | sha256sum)
[ "$(cat "$root/.made" 2>/dev/null)" = "$key" ] && exit 0
rm -rf "$root"
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' |
    awk -v release="$VERSION_CODENAME" '$2 == release {print $1; exit}')
debootstrap --variant=minbase --include="$packages" "$VERSION_CODENAME" "$root" ${mirror:+"$mirror"} \
    >"$root.log" 2>&1 || { tail "$root.log"; exit 1; }
rm -f "$root"/var/cache/apt/archives/*.deb
echo table >"$root/etc/hostname"
echo 127.0.0.1 localhost table >"$root/etc/hosts"
: >"$root/etc/machine-id"
for unit in mosquitto.service man-db.timer apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
    e2scrub_reap.service fstrim.timer; do
    chroot "$root" systemctl -q disable "$unit" 2>/dev/null || true # not every release has each
done
echo "$key" >"$root/.made"
