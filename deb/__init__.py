"""The Debian package: `make deb` builds it with `build.sh` from the maintainer scripts and lists beside it."""
