"""Figures of your own numbers, drawn as forebay's reports draw theirs.

    >>> from forebay.chart import Panel, Series, svg
    >>> line = Series("codel", [1.0, 2.0, 4.0], [12.1, 9.8, 8.7])
    >>> text = svg([Panel("", "rate, Mbit/s", "delay, ms", [line])], "Delay by rate")

A figure is a list of panels; each has one or more series, or regions. Equal labels look alike in
all panels of a figure.
"""

from forebay._report.chart import png, svg
from forebay._report.panel import Panel, Region, Series

__all__ = ["Panel", "Region", "Series", "png", "svg"]
