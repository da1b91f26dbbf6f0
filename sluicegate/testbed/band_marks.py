"""Marks of each band of our qdisc, read from a map of BPF that it has pinned.

Linux, Documentation/bpf/map_array.rst. One system call reads the counts of all its interfaces: 16
words each, in the order in which they began to use it (`kernel/src/stats.bpf.h`).
"""

from __future__ import annotations

import ctypes
import os
import struct

import numpy as np
from numpy.typing import NDArray

from sluicegate.errors import SluiceError

BANDS, _INTERFACES = 16, 8
# linux/bpf.h; x86-64 and arm64 have other numbers of the call
_LOOK_UP, _GET = 1, 7
_CALLS = {"x86_64": 321, "aarch64": 280}


class BandMarks:
    """The marks of one interface by band.

    Args:
        path: Of the map, in the file system of BPF.
        interface: Its place among those that use the qdisc.

    Raises:
        SluiceError: If there is no such map, or on a machine whose number of the call is not known.
    """

    def __init__(self, path: str, interface: int) -> None:
        machine = os.uname().machine
        if machine not in _CALLS:
            known = ", ".join(_CALLS)
            raise SluiceError(f"marks by band are read on these machines: {known}; not {machine}")
        self._number = _CALLS[machine]
        self._kernel = ctypes.CDLL(None, use_errno=True)
        self._interface = interface
        self._key = ctypes.create_string_buffer(4)
        self._value = ctypes.create_string_buffer(8 * BANDS * _INTERFACES)
        name = ctypes.create_string_buffer(path.encode())
        self._map = self._call(_GET, struct.pack("=QII", ctypes.addressof(name), 0, 0), path)
        key, value = ctypes.addressof(self._key), ctypes.addressof(self._value)
        self._question = struct.pack("=IIQQQ", self._map, 0, key, value, 0)
        self._path = path

    def read(self) -> NDArray[np.int64]:
        """The marks until now, shape (BANDS,)."""
        self._call(_LOOK_UP, self._question, self._path)
        counts = np.frombuffer(self._value.raw, dtype=np.int64)
        return counts[BANDS * self._interface :][:BANDS]

    def _call(self, what: int, words: bytes, path: str) -> int:
        attributes = ctypes.create_string_buffer(words, len(words))
        found = self._kernel.syscall(self._number, what, attributes, len(words))
        if found < 0:
            raise SluiceError(f"{path}: {os.strerror(ctypes.get_errno())}")
        return int(found)
