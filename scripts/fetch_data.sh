#!/usr/bin/env bash
# Fetches the data of three shipped programs into target/data. They come in Debian packages under the GPL and LGPL, so this repository
# does not carry them. Nothing is installed; does nothing where the files are there already.
#
#   genotypes   bio-eagle-examples     379 people of the 1000 Genomes Project at 2,000 places of chromosome 21
#   rabies      beast-mcmc-examples    genes of rabies viruses from 372 bats
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "fetch_data: $1" >&2
    exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

download() {
    (cd "$2" && apt-get download -qq "$1" 2>/dev/null) && ls "$2"/*.deb >/dev/null 2>&1
}

# A fresh machine has no list of packages.
update() {
    local as_root=()
    [ "$(id -u)" = 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
}

# fetch PACKAGE TARGET FILE..: unpacks the named files of a package into target/data/TARGET.
fetch() {
    local package=$1 target=target/data/$2 room=$work/$1 file
    shift 2
    [ ! -d "$target" ] || return 0
    command -v apt-get >/dev/null || fail "apt-get is missing: take $package from a Debian mirror and unpack $* into $target"
    mkdir -p "$room/found" target/data
    download "$package" "$room" || { update && download "$package" "$room"; } || fail "apt-get cannot download $package"
    dpkg-deb -x "$room"/*.deb "$room/root"
    for file in "$package/copyright" "$@"; do
        cp "$room/root/usr/share/doc/$file" "$room/found/"
    done
    mv "$room/found" "$target"
}

fetch bio-eagle-examples genotypes bio-eagle/examples/EUR_test.{bed,bim,fam}.gz
fetch beast-mcmc-examples rabies beast-mcmc/examples/DiscreteTraits/phylogeneticGLM/batRABV.fas.gz
