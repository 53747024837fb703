"""Plug-ins in Python: a class is a part, and its annotated fields are its parameters.

`discipline`, `control` and `traffic` have the classes from which they come, `parameters` reads
fields, `loading` brings classes to the engine, and `process` runs several at a time.
"""

from forebay._engine import Ack, Congestion, Packet, Queue, Window
from forebay.plugin.control import CongestionControl
from forebay.plugin.discipline import Discipline
from forebay.plugin.parameters import Packets, Rate, Size, Time
from forebay.plugin.traffic import Source

__all__ = [
    "Ack",
    "Congestion",
    "CongestionControl",
    "Discipline",
    "Packet",
    "Packets",
    "Queue",
    "Rate",
    "Size",
    "Source",
    "Time",
    "Window",
]
