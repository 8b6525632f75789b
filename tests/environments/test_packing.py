"""Packed files that practice states hold."""

from __future__ import annotations

import gzip
import io
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from edgeevo.environments.packing import LONG_AGO, gzipped, tarred


@given(st.binary(max_size=200), st.integers(0, 700))
def test_gzipped_data_come_back_through_another_gzip(data, times):
    """What we pack, the standard library unpacks, also across the block size of 65,535 bytes."""
    assert gzip.decompress(gzipped(data * times)) == data * times


def test_gzipped_bytes_are_fixed():
    """The packed bytes hang on nothing but the content, so a state has the same id on every machine."""
    assert gzipped(b"ok\n").hex() == "1f8b0800000000000003010300fcff6f6b0a7d0e16da03000000"


def test_tarred_members_keep_order_content_and_age():
    """Members come back in the order given, with their content and the fixed old date."""
    members = {"top": None, "top/b.txt": b"b\n", "top/a.txt": b""}
    with tarfile.open(fileobj=io.BytesIO(tarred(members))) as archive:
        found = archive.getmembers()
        assert [m.name for m in found] == list(members)
        assert {m.mtime for m in found} == {LONG_AGO}
        assert archive.extractfile("top/b.txt").read() == b"b\n"
