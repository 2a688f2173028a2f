"""Microsoft's releases of DirectML.dll that are known, by what is in them.

A release comes with several signatures: the DLL 1.14.1 of two wheels differs in its last 10 KB. So a release is known by the digest that its
signature is made of: SHA-256 of the file without the signature and the two fields of the header that depend on it (Microsoft's
"Windows Authenticode Portable Executable Signature Format").
"""

from __future__ import annotations

import struct
from hashlib import sha256

RELEASES = {
    "9226d3c8e5aa67691422add84bfe21206b572051ebaac6ddb4b5af0cd85397ab": "1.8.0",  # 1.10.0, 1.11.1
    "8b8542548b776fe6473c4fdc5e423f576802b14273a6460a61a8713e4af009a5": "1.9.0",  # 1.12.0
    "82363e32efa4694b82f4d8fb6cf7585da21ef1d60df8e1a669a61cb7ddde7c5a": "1.9.1",  # 1.13.1
    "e50b86a02edb394aba52f78a2574764b8cc7a5180c2780bcecb7cfba1dbf8c12": "1.10.1",  # 1.14.1
    "655794f3d92543164d27a68c587f66dafe5c91f7300ca01fb37fc0ecfd2f13ed": "1.12.0",  # 1.15.1
    "8ec20e91b0b2daff230bb8115c25bc7730e0866788a5b02e23e6b7ebef6754a6": "1.12.1",  # 1.16.0, 1.16.3
    "3ed0230bb2600dacee0255fbef9b9310c56e04fc544318e8ecfa70f3982724cd": "1.13.1",  # 1.17.0, 1.17.3
    "42019d23ed83f5b2120acf48be3a4b8a81990c5da0fa25be04468891154b8959": "1.14.1",  # 1.18.0, 1.18.1
    "b51a77b76e5f49ed900f148b6b99d897641d615282d55b7b2a812a2bfd8739fc": "1.15.1",  # 1.19.2
    "cd3873a66222166202655b774437685afae37b6ac8e6e6fde41ac5f6a4f9b438": "1.15.2",  # 1.20.1
    "476745192b2b9c21d41acdb54dc34a8afb9b8bfebf71281986eb144a41026df5": "1.15.4",  # 1.21.0, 1.24.4
}
"""Digest -> release; beside it the wheels of onnxruntime-directml that were seen to have it."""

_PE32_PLUS = 0x20B
_CHECKSUM, _SIGNATURE = 88, 168
"""From the PE header: the checksum, and the place and the size of the signature (the security directory) in PE32+."""


def release_of(data: bytes) -> str:
    """The release that a DLL for x86-64 is; empty if it is none that is known."""
    return RELEASES.get(contents_digest(data), "")


def contents_digest(data: bytes) -> str:
    """SHA-256 of all but the signature, in hexadecimal; empty if the headers are cut off, or the signature is not at the end."""
    (start,) = struct.unpack_from("<I", data, 60)
    checksum, signature = start + _CHECKSUM, start + _SIGNATURE
    if len(data) < signature + 8 or struct.unpack_from("<H", data, start + 24) != (_PE32_PLUS,):
        return ""
    place, size = struct.unpack_from("<II", data, signature)
    if place and (place + size != len(data) or place < signature + 8):
        return ""
    found = sha256(data[:checksum])
    found.update(memoryview(data)[checksum + 4 : signature])
    found.update(memoryview(data)[signature + 8 : place or len(data)])
    return found.hexdigest()
