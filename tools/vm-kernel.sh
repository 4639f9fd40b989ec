#!/bin/sh
# Fetch a kernel for virtual machines: Debian's cloud kernel, unpacked and never installed. Puts into DIR (default
# /usr/lib/bawn/vm, where bawn looks) the kernel, its uncompressed form for Firecracker, and the modules that a guest needs.
# Does nothing when they are there. Where that is not possible it says why and is content: virtual machines are then left out.
set -eu

dir=${1:-/usr/lib/bawn/vm}
package=linux-image-cloud-amd64
modules="virtio virtio_ring virtio_mmio virtio_console virtio_blk virtio-rng fuse vsock
    vmw_vsock_virtio_transport_common vmw_vsock_virtio_transport"

skip()
{
    echo "vm-kernel: $*; virtual machines are left out" >&2
    exit 0
}

# The payload of a bzImage, as its header says where: setup sectors at 0x1f1, offset and length at 0x248.
number()
{
    od -An -j "$2" -N "$3" -t "u$3" "$1" | tr -d ' '
}

uncompress()
{
    start=$((($(number "$1" 497 1) + 1) * 512 + $(number "$1" 584 4)))
    # the last four bytes are the size
    tail -c "+$((start + 1))" "$1" | head -c "$(($(number "$1" 588 4) - 4))" >"$2.packed"
    case $(od -An -N 4 -t x1 "$2.packed" | tr -d ' ') in
    02214c18) tool=lz4 ;;
    28b52ffd) tool=zstd ;;
    fd377a58) tool=xz ;;
    1f8b*) tool=gzip ;;
    *) tool=false ;;
    esac
    if command -v "$tool" >/dev/null && "$tool" -dc "$2.packed" >"$2"; then
        rm "$2.packed"
    else
        echo "vm-kernel: cannot uncompress the kernel ($tool is missing?); there will be no Firecracker" >&2
        rm -f "$2" "$2.packed"
    fi
}

[ ! -e "$dir/vmlinuz" ] || exit 0
[ "$(uname -m)" = x86_64 ] || skip "$(uname -m) machines have no microvm"
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip "no apt-get here"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
chmod 755 "$tmp"
image=$(apt-cache depends "$package" 2>/dev/null | sed -n 's/^ *Depends: *\(linux-image-[^ ]*\)$/\1/p' | head -n 1)
[ -n "$image" ] || skip "apt knows no $package"
(cd "$tmp" && apt-get download -qq "$image" 2>"$tmp/said") || skip "cannot download $image: $(tail -n 1 "$tmp/said")"
dpkg-deb -x "$tmp"/*.deb "$tmp/x"
mkdir -p "$tmp/vm/modules"
for m in $modules; do
    found=$(find "$tmp/x/lib/modules" -name "$m.ko" | head -n 1)
    [ -z "$found" ] || cp "$found" "$tmp/vm/modules/"
done
cp "$tmp"/x/boot/vmlinuz-* "$tmp/vm/vmlinuz"
uncompress "$tmp/vm/vmlinuz" "$tmp/vm/vmlinux"
mkdir -p "$(dirname "$dir")"
# whole or not at all
rm -rf "$dir.new"
cp -r "$tmp/vm" "$dir.new"
chmod -R a+rX "$dir.new"
rm -rf "$dir"
mv "$dir.new" "$dir"
echo "vm-kernel: $image is in $dir"
