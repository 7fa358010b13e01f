#!/bin/bash
# Builds the Debian package, OUT/scannerd_VERSION-REVISION_ARCHITECTURE.deb, for the Python that Debian has here:
#   deb/build.sh OUT [REVISION]
# Needs dpkg, /usr/bin/python3 with venv, and a virtual environment of requirements/test.txt ($TOOLS, by default .venv).
# The same commit gives the same bytes: times come from $SOURCE_DATE_EPOCH, by default the time of the last commit, or
# that of the changelog where git does not know one.
# DEBFULLNAME and DEBEMAIL name who answers for the package; dpkg's own variables how it is compressed.
set -euo pipefail
umask 022
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(dirname "$here")
out=$(realpath -m "$1") revision=${2:-1}
tools=${TOOLS:-$tree/.venv/bin}
home=/opt/scannerd
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$tree" log -1 --format=%ct 2>/dev/null || stat -c %Y "$tree/CHANGELOG.md")}
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export DEBFULLNAME=${DEBFULLNAME:-scannerd maintainers} DEBEMAIL=${DEBEMAIL:-scannerd@localhost}

release=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$tree/scannerd/__init__.py")
version=$(sed -E 's/\.?(a|b|rc|dev)([0-9])/~\1\2/' <<<"$release")-$revision
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
shared=$root/usr/share
mkdir -p "$root/DEBIAN" "$out"

# An environment that is whole by itself, made where it does not stay: what names this folder is put right below.
make_environment() {
    /usr/bin/python3 -m venv --without-pip "$root$home"
    local pip=("$tools/pip" --quiet --python "$root$home/bin/python" install --no-compile)
    "$tools/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/wheels" "$tree"
    "${pip[@]}" --require-hashes --only-binary :all: --requirement "$tree/requirements/table.txt"
    # By name, from a folder: a file that is named would be told, with its path, in the installed metadata.
    "${pip[@]}" --no-deps --no-index --find-links "$work/wheels" scannerd
    "$tools/pip" --python "$root$home/bin/python" check >&2 || { echo "run make lock" >&2; return 1; }
    rm -r "$root$home/include"
    find "$root$home/bin" -mindepth 1 ! -name 'python*' ! -name scannerd ! -name teen-patti-engine -delete
    sed -i "1s|.*|#!$home/bin/python|" "$root$home"/bin/{scannerd,teen-patti-engine}
    sed -i "s|$root||g" "$root$home/pyvenv.cfg"
    sed -i '\|^\(\.\./\)*bin/|d' "$root$home"/lib/python3*/site-packages/*.dist-info/RECORD # sums of what was changed
    # Compiled here, and taken as it is: nothing is written there later that dpkg does not know.
    "$root$home/bin/python" -m compileall -q -j 1 --invalidation-mode unchecked-hash -s "$root" -p / "$root$home/lib"
}

make_links() {
    mkdir -p "$root/usr/bin"
    ln -s "$home"/bin/{scannerd,teen-patti-engine} "$root/usr/bin/"
}

# click prints a completion for each shell; the program itself is asked again for each word.
make_completions() {
    local name shell file variable
    mkdir -p "$shared"/{bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
    for name in scannerd teen-patti-engine; do
        variable=_$(tr a-z- A-Z_ <<<"$name")_COMPLETE
        for shell in bash zsh fish; do
            case $shell in
            bash) file=bash-completion/completions/$name ;;
            zsh) file=zsh/vendor-completions/_$name ;;
            fish) file=fish/vendor_completions.d/$name.fish ;;
            esac
            env "$variable=${shell}_source" "$root$home/bin/python" "$root$home/bin/$name" >"$shared/$file"
        done
    done
}

make_manual_pages() {
    (cd "$tree" && PYTHONPATH=$tree:$tree/drivers:$tree/engine "$tools/python" -m deb.manpages "$shared/man/man1")
    gzip -9n "$shared"/man/man1/*
}

# Rules of udev, configurations and drop-ins are for people to copy: nothing of them is in force by itself.
make_documents() {
    local doc=$shared/doc/scannerd
    mkdir -p "$doc/examples"
    cp -RL "$tree"/config/{scannerd.example.toml,examples/*,games,mosquitto,prometheus,grafana,node-red} \
        "$tree"/systemd/plug-in.conf.example "$tree"/udev/65-scannerd.rules "$doc/examples/"
    cp "$tree"/README.md "$tree"/docs/*.md "$here/copyright" "$doc/"
    gzip -9nc "$tree/CHANGELOG.md" >"$doc/changelog.gz"
    sed -e "s|@VERSION@|$version|" -e "s|@DATE@|$(date -u -R -d "@$SOURCE_DATE_EPOCH")|" \
        -e "s|@MAINTAINER@|$DEBFULLNAME <$DEBEMAIL>|" "$here/changelog" | gzip -9n >"$doc/changelog.Debian.gz"
    install -D -m 644 "$here/lintian-overrides" "$shared/lintian/overrides/scannerd"
}

make_units() {
    install -D -m 644 -t "$root/usr/lib/systemd/system" "$tree/systemd/scannerd@.service"
    install -D -m 644 "$here/sysusers.conf" "$root/usr/lib/sysusers.d/scannerd.conf"
    install -D -m 644 "$here/tmpfiles.conf" "$root/usr/lib/tmpfiles.d/scannerd.conf"
    install -D -m 644 -t "$root/usr/lib/udev/rules.d" "$here/71-scannerd-links.rules"
    install -d "$root/etc/scannerd"
}

# The newest C library that a wheel was built for.
needed_libc() {
    { echo 2.17; sed -nE 's/.*manylinux_([0-9]+)_([0-9]+)_.*/\1.\2/p' "$root$home"/lib/python3*/site-packages/*/WHEEL; } |
        sort -V | tail -n 1
}

# In KiB, as dpkg-gencontrol counts: the same on every file system.
installed_size() {
    find "$root"/{etc,opt,usr} -printf '%y %s\n' | awk '{n += $1 == "f" ? int(($2 + 1023) / 1024) : 1} END {print n}'
}

make_control() {
    local minor
    minor=$("$root$home/bin/python" -c 'import sys; print(sys.version_info.minor)')
    install -m 755 -t "$root/DEBIAN" "$here"/{preinst,postinst,prerm,postrm}
    install -m 644 -t "$root/DEBIAN" "$here/templates"
    (cd "$root" && find opt usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$(dpkg --print-architecture)|" \
        -e "s|@MAINTAINER@|$DEBFULLNAME <$DEBEMAIL>|" -e "s|@PYTHON@|3.$minor|" -e "s|@NEXT_PYTHON@|3.$((minor + 1))|" \
        -e "s|@LIBC@|$(needed_libc)|" -e "s|@SIZE@|$(installed_size)|" \
        "$here/control" >"$root/DEBIAN/control"
}

make_environment
make_links
make_completions
make_manual_pages
make_documents
make_units
make_control
if grep -rlF "$work" "$root"; then
    echo "these files name the folder that they were built in" >&2
    exit 1
fi
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group --threads-max=1 -Z"${DPKG_DEB_COMPRESSOR_TYPE:-xz}" -z"${DPKG_DEB_COMPRESSOR_LEVEL:-6}" \
    --build "$root" "$out" >/dev/null
echo "$out/scannerd_${version}_$(dpkg --print-architecture).deb"
