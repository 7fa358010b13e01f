#!/bin/bash
# Makes what the virtual machine is made of, all of it below ${SCANNERD_LAB:-/var/tmp/scannerd-lab}: a kernel, a Debian 12
# tree and a disk image of it (3 min). Needs root and apt on Debian 12; installs QEMU and what else is missing. What is
# there already is used again.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${SCANNERD_LAB:-/var/tmp/scannerd-lab}
root=$lab/root
export DEBIAN_FRONTEND=noninteractive
umask 022
mkdir -p "$lab"

modules=(virtio_pci virtio_blk ext4 crc32c_generic virtio_console virtio_rng xhci_pci usbhid hid_generic ftdi_sio cdc_acm
    evdev dummy_hcd libcomposite usb_f_hid usb_f_acm configfs)

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
    key=$(cat "$here/build.sh" "$here"/guest/{init,agent,agent.service} "$root/.made" | sha256sum)
    [ "$key" = "$(cat "$lab/key" 2>/dev/null)" ] && return 0
    rm -f "$lab/key" "$lab/ready.qcow2"
    version=$(ls "$lab/kernel/lib/modules")
    cp "$lab/kernel/boot/vmlinuz-$version" "$lab/vmlinuz"
    make_first_stage
    local copy=$lab/copy unit file
    rm -rf "$copy"
    cp -a "$root" "$copy"
    rm -rf "$copy"/usr/share/{doc,locale,i18n} "$copy"/var/cache/apt/* "$copy"/var/lib/apt/lists/* "$copy/.made"
    while read -r file; do
        install -D -m 644 "$file" "$copy${file#"$lab/kernel"}"
    done < <(module_files "${modules[@]}")
    cp "$lab/kernel/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} "$copy/lib/modules/$version/"
    depmod -b "$copy" "$version"
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

install_tools
"$here/../guests/root.sh" "$root"
make_kernel
make_image
