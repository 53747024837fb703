"""Fitting: what a measurement of a link says about it, as a scenario.

    >>> from forebay import fit
    >>> found = fit.fit(["link.pcap"], "out/link-fit")
    >>> found.discipline.kind, found.estimates["rate"].value
    >>> found.scenario.with_queue("cake")

`docs/fit.md` explains how a link is found, and how well.
"""

from forebay.fit.fitting import fit
from forebay.fit.found import Discipline, Estimate, Fitted
from forebay.fit.measurement import Measurement
from forebay.fit.readers import read

__all__ = ["Discipline", "Estimate", "Fitted", "Measurement", "fit", "read"]
