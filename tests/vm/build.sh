#!/bin/bash
# Makes what the virtual machine is made of, all of it below ${SCANNERD_LAB:-/var/tmp/scannerd-lab}:
#   build.sh machine       a kernel, a Debian 12 tree with scannerd's locked dependencies, and a disk image of it (3 min)
#   build.sh wheel PYTHON  scannerd itself from a wheel of this tree, as a tar that is unpacked in the guest (10 s)
# Needs root and apt on Debian 12; installs QEMU and what else is missing. What is there already is used again.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
lab=${SCANNERD_LAB:-/var/tmp/scannerd-lab}
root=$lab/root
export DEBIAN_FRONTEND=noninteractive
umask 022
mkdir -p "$lab"

packages=systemd,systemd-sysv,dbus,udev,kmod,procps,python3,python3-venv,libusb-1.0-0,mosquitto,mosquitto-clients
modules=(virtio_pci virtio_blk ext4 crc32c_generic virtio_console virtio_rng xhci_pci usbhid hid_generic ftdi_sio cdc_acm
    evdev dummy_hcd libcomposite usb_f_hid usb_f_acm configfs)

pip="/opt/scannerd/bin/pip --quiet --disable-pip-version-check"
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "$1"; }

install_tools() {
    local missing=()
    want() { command -v "$1" >/dev/null || missing+=("$2"); }
    want qemu-system-x86_64 qemu-system-x86
    want qemu-img qemu-utils
    want debootstrap debootstrap
    want busybox busybox-static
    want cpio cpio
    want modprobe kmod
    want mke2fs e2fsprogs
    ((${#missing[@]} == 0)) && return 0
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# Debian's tree, with the packages that scannerd needs and a virtual environment of its locked dependencies.
make_root() {
    [ -e "$root/.made" ] && return 0
    rm -rf "$root"
    local mirror
    mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' | awk '$2 == "bookworm" {print $1; exit}')
    debootstrap --variant=minbase --include="$packages" bookworm "$root" "${mirror:-http://deb.debian.org/debian}" \
        >"$lab/debootstrap.log" 2>&1 || { tail "$lab/debootstrap.log"; return 1; }
    chroot "$root" systemctl -q disable mosquitto.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
        e2scrub_all.timer e2scrub_reap.service fstrim.timer
    touch "$root/.made"
}

make_environment() {
    local lock=$tree/requirements/demo.txt
    cmp -s "$lock" "$root/opt/scannerd/lock.txt" && return 0
    rm -rf "$root"/opt/{scannerd,wheels} "$lab/wheels"
    python3 -m pip download --quiet --disable-pip-version-check --require-hashes --requirement "$lock" \
        --dest "$lab/wheels" --python-version 3.11 --only-binary :all: \
        --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64
    in_root "python3 -m venv /opt/scannerd"
    cp -a "$lab/wheels" "$root/opt/wheels"
    in_root "$pip install --no-index --no-deps /opt/wheels/*"
    rm -rf "$root/opt/wheels"
    cp "$lock" "$root/opt/scannerd/lock.txt"
}

# Debian's kernel, unpacked beside the tree: it is not installed on this machine.
make_kernel() {
    [ -e "$lab/kernel/.made" ] && return 0
    rm -rf "$lab/kernel"
    local package
    package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image-6/ {print $2; exit}')
    (cd "$lab" && apt-get download -qq -o APT::Sandbox::User=root "$package" && dpkg -x "$package"_*.deb kernel && rm "$package"_*.deb)
    depmod -b "$lab/kernel" "$(ls "$lab/kernel/lib/modules")"
    touch "$lab/kernel/.made"
}

# The files of a module and of those it needs, in the order of loading.
module_files() {
    local name
    for name in "$@"; do
        modprobe -d "$lab/kernel" -S "$version" --show-depends "$name" | awk '$1 == "insmod" {print $2}'
    done | awk '!seen[$0]++'
}

make_first_stage() {
    local stage file number=10
    stage=$(mktemp -d)
    mkdir -p "$stage"/{bin,dev,root,modules}
    cp "$(command -v busybox)" "$stage/bin/busybox"
    install "$here/guest/init" "$stage/init"
    while read -r file; do
        cp "$file" "$stage/modules/$((number++)).ko"
    done < <(module_files virtio_pci virtio_blk ext4 crc32c_generic)
    (cd "$stage" && find . | cpio -o -H newc --quiet | gzip -1) >"$lab/initrd"
    rm -rf "$stage"
}

make_image() {
    local key
    key=$(cat "$here/build.sh" "$here"/guest/{init,agent,agent.service} "$tree/requirements/demo.txt" | sha256sum)
    [ "$key" = "$(cat "$lab/key" 2>/dev/null)" ] && return 0
    rm -f "$lab/key" "$lab/ready.qcow2"
    version=$(ls "$lab/kernel/lib/modules")
    cp "$lab/kernel/boot/vmlinuz-$version" "$lab/vmlinuz"
    make_first_stage
    local copy=$lab/copy unit file
    rm -rf "$copy"
    cp -a "$root" "$copy"
    rm -rf "$copy"/usr/share/{doc,man,locale,i18n} "$copy"/var/cache/apt/* "$copy"/var/lib/apt/lists/* "$copy/.made"
    while read -r file; do
        install -D -m 644 "$file" "$copy${file#"$lab/kernel"}"
    done < <(module_files "${modules[@]}")
    cp "$lab/kernel/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} "$copy/lib/modules/$version/"
    depmod -b "$copy" "$version"
    echo vm >"$copy/etc/hostname"
    echo 127.0.0.1 localhost vm >"$copy/etc/hosts"
    echo 0123456789abcdef0123456789abcdef >"$copy/etc/machine-id"
    touch "$copy/etc/.updated" "$copy/var/.updated" # nothing to do at the first boot
    echo 'options dummy_hcd num=4' >"$copy/etc/modprobe.d/dummy_hcd.conf"
    install "$here/guest/agent" "$copy/usr/local/sbin/agent"
    install -m 644 "$here/guest/agent.service" "$copy/etc/systemd/system/"
    chroot "$copy" systemctl -q add-wants multi-user.target agent.service
    for unit in systemd-update-utmp.service systemd-random-seed.service systemd-pstore.service dev-hugepages.mount \
        dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount getty.target proc-sys-fs-binfmt_misc.automount; do
        ln -sf /dev/null "$copy/etc/systemd/system/$unit"
    done
    rm -f "$lab/root.img"
    truncate -s 1200M "$lab/root.img"
    mke2fs -q -F -t ext4 -d "$copy" "$lab/root.img"
    rm -rf "$copy"
    echo "$key" >"$lab/key"
}

# What pip installs of the wheel, compiled, at the paths that it has in the guest.
make_wheel() {
    local python=$1
    rm -rf "$lab/wheel" "$root/opt/wheel"
    "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$lab/wheel" "$tree"
    cp -a "$lab/wheel" "$root/opt/wheel"
    in_root "$pip install --no-index --no-deps --force-reinstall /opt/wheel/*"
    local listing="import importlib.metadata as m; [print(f.locate().resolve()) for f in m.files('scannerd')]"
    in_root "/opt/scannerd/bin/python -c \"$listing\"" | sed s,^/,, |
        tar -C "$root" -czf "$lab/scannerd.tar.gz" -T -
    in_root "$pip uninstall --yes scannerd"
    rm -rf "$root/opt/wheel"
}

case ${1:-} in
machine)
    install_tools
    make_root
    make_environment
    make_kernel
    make_image
    ;;
wheel) make_wheel "$2" ;;
*) sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac
