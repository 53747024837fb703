"""Suites: published sets of tests for queue disciplines, as data, run by the sweep engine.

`forebay suite rfc7928` runs RFC 7928, sections 5 to 10; `docs/suite-rfc7928.md` explains it.
"""

from forebay.suite.catalogue import Ratio, Suite, Test, Trade, load, names

__all__ = ["Ratio", "Suite", "Test", "Trade", "load", "names"]
