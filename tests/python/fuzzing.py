"""How the fuzzers in Python run: some hundred examples, or for as long as `make fuzz` says."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning
from hypothesis.strategies import SearchStrategy

SECONDS = float(os.environ.get("FOREBAY_FUZZ_SECONDS", 0))
"""Time for each fuzzer; without it examples are few and always the same."""
EXAMPLES = 40
TOKENS = [b"<", b"]]>", b"&x;", b'"', b"0", b"{", b"-1", b"1e999", b"\xff" * 4]
"""What means something in files of text, and in packed ones."""


def fuzz(check: Callable[[Any], None], inputs: SearchStrategy[Any]) -> None:
    """Call `check` with inputs; one that fails is made small and shown.

    Args:
        check: raises if what it is given breaks a promise.
        inputs: what it is given.
    """
    checked = settings(
        max_examples=500 if SECONDS else EXAMPLES,
        derandomize=not SECONDS,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )(given(inputs)(check))
    end = time.monotonic() + SECONDS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # about how long inputs are when shown
        checked()
        while time.monotonic() < end:
            checked()


def mutated(whole: bytes) -> SearchStrategy[bytes]:
    """The bytes with some parts replaced, repeated or left out."""

    def act(changes: list[tuple[int, int, bytes]]) -> bytes:
        found = whole
        for at, size, new in changes:
            found = found[:at] + new + found[at + size :]
        return found

    place = st.integers(0, len(whole))
    new = st.one_of(st.binary(max_size=8), st.sampled_from(TOKENS))
    return st.lists(st.tuples(place, st.integers(0, 40), new), max_size=6).map(act)
