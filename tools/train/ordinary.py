#!/usr/bin/env python3
"""ordinary.py LIST FOLDER

Fetch the packages of LIST (ordinary.txt) into FOLDER with npm and pip, those that are not there yet; their checksums are
compared. As a module: texts(list, folder) yields a part of some files of each, the same ones every time."""
import hashlib
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

FILES = 120  # of one package
SIZE = 9000  # of a text, in characters
LEAST = 200
ABOUT_ATTACKS = re.compile(r"prompt.injection|jailbreak|ignore (all |any |the )?previous", re.I)


class Failed(Exception):
    pass


def wanted(path):
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            yield line.split()


def place(folder, registry, name, version):
    return pathlib.Path(folder) / f"{registry}-{name.replace('/', '-')}-{version}"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def fetch(registry, name, version, checksum, to):
    commands = {"npm": ["npm", "pack", "--silent", f"{name}@{version}", "--pack-destination"],
                "pypi": ["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", f"{name}=={version}", "-d"]}
    with tempfile.TemporaryDirectory(dir=to.parent) as where:
        try:
            run = subprocess.run([*commands[registry], where], capture_output=True, text=True, check=False, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise Failed(f"'{name}' {version} could not be fetched: {e}") from None
        got = list(pathlib.Path(where).iterdir())
        if run.returncode or len(got) != 1:
            raise Failed(f"'{name}' {version} could not be fetched: {(run.stderr.strip() or 'nothing came').splitlines()[-1]}")
        if digest(got[0].read_bytes()) != checksum:
            raise Failed(f"'{name}' {version} is not the archive that '{checksum[:12]}…' is the checksum of")
        got[0].rename(to)


def members(data):
    """(name, function that reads it) of each file."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        z = zipfile.ZipFile(io.BytesIO(data))
        return [(n.filename, lambda n=n: z.read(n)) for n in z.infolist() if not n.is_dir()]
    t = tarfile.open(fileobj=io.BytesIO(data))
    return [(n.name, lambda n=n: t.extractfile(n).read()) for n in t.getmembers() if n.isfile()]


def part(text, key):
    """SIZE characters of it, from a line's start on."""
    if len(text) <= SIZE:
        return text
    at = int(key[:8], 16) % (len(text) - SIZE)
    return text[text.rfind("\n", 0, at) + 1:][:SIZE]


def texts(path, folder):
    seen = set()
    for registry, name, version, _ in wanted(path):
        files = {digest((name + n).encode()): read for n, read in members(place(folder, registry, name, version).read_bytes())}
        took = 0
        for key in sorted(files):
            if took == FILES:
                break
            try:
                text = part(files[key]().decode(), key)
            except UnicodeDecodeError:
                continue
            same = digest("".join(text[:2000].split()).encode())
            if len(text) < LEAST or "\0" in text or same in seen or ABOUT_ATTACKS.search(text):
                continue
            seen.add(same)
            took += 1
            yield name, text


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    todo = [p for p in wanted(sys.argv[1]) if not place(folder, *p[:3]).exists()]
    for i, p in enumerate(todo):
        print(f"\rfetching {i + 1} of {len(todo)}: {p[1]:<40}", end="", file=sys.stderr, flush=True)
        fetch(*p, place(folder, *p[:3]))
    if todo:
        print(file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except Failed as e:
        sys.exit(f"\nordinary.py: {e}")
