"""Vectors of the texts encoded last: an answer's clauses come back within a verdict, a question's references with every answer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Memory:
    """Up to `size` vectors by their text, those unused for longest dropped first; threads may share one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def held(self, texts: Iterable[str]) -> dict[str, Vectors]:
        """The vectors of those texts that are remembered."""
        with self._lock:
            found = {text: self._vectors[text] for text in texts if text in self._vectors}
            for text in found:
                self._vectors.move_to_end(text)
        return found

    def keep(self, vectors: Mapping[str, Vectors]) -> None:
        """Remember vectors, and forget what has been unused for longest beyond the size."""
        with self._lock:
            for text, vector in vectors.items():
                self._vectors[text] = vector.copy()
                self._vectors.move_to_end(text)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
