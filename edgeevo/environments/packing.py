"""Builds packed files whose bytes depend on nothing but their content: no clock, no user, no version of a compressor."""

from __future__ import annotations

import io
import struct
import tarfile
import zlib

LONG_AGO = 978_307_200  # what members of an archive are dated, in seconds since the epoch: 1 January 2001
LONG_AGO_AGE_SECONDS = 9000 * 86_400  # as old as that at least; far beyond every age that a task asks about
_BLOCK = 65_535


def gzipped(data: bytes) -> bytes:
    """`data` as a gzip file of stored blocks, so that no version of zlib can change it."""
    blocks = [data[i : i + _BLOCK] for i in range(0, len(data), _BLOCK)] or [b""]
    out = bytearray(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03")
    for i, block in enumerate(blocks):
        out += struct.pack("<BHH", i == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
    return bytes(out + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF))


def tarred(members: dict[str, bytes | None]) -> bytes:
    """A tar file of `members` (name -> content, None for a directory), in the order given."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.mtime, info.uname, info.gname = LONG_AGO, "user", "user"
            info.uid = info.gid = 1000
            if data is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(info)
            else:
                info.size, info.mode = len(data), 0o644
                archive.addfile(info, io.BytesIO(data))
        used = archive.offset
    return buffer.getvalue()[:used] + bytes(2 * tarfile.BLOCKSIZE)
