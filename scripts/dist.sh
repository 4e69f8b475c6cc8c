#!/usr/bin/env bash
# Builds the archives of a release into dist/, one a system, with their checksums.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/lib.sh
source scripts/lib.sh
need_go

version=$(git describe --tags --always --dirty 2>/dev/null || echo devel)
rm -rf dist
mkdir dist
for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do
	os=${target%/*} arch=${target#*/}
	name=afterimage-$version-$os-$arch
	binary=afterimage
	[[ $os != windows ]] || binary=afterimage.exe
	say "$name"
	mkdir "dist/$name"
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -ldflags='-s -w' -o "dist/$name/$binary" .
	cp LICENSE README.md CHANGELOG.md "dist/$name/"
	[[ $os != linux ]] || cp contrib/systemd/afterimage.service "dist/$name/"
	# The same source makes the same archive.
	tar -C dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -cf - "$name" |
		gzip -n9 >"dist/$name.tar.gz"
	rm -rf "dist/${name:?}"
done
(cd dist && sha256sum ./*.tar.gz >SHA256SUMS)
ls -l dist >&2
