"""Plug-ins in Python: a class is a part, and its annotated fields are its parameters.

`part` has the classes from which they come, `parameters` reads fields, `loading` brings classes to
the engine, and `process` runs several at a time.
"""

from forebay._engine import Ack, Congestion, Packet, Queue, Window
from forebay._plugin.parameters import Packets, Rate, Size, Time
from forebay._plugin.part import CongestionControl, Discipline, Endpoint, Source

__all__ = [
    "Ack",
    "Congestion",
    "CongestionControl",
    "Discipline",
    "Endpoint",
    "Packet",
    "Packets",
    "Queue",
    "Rate",
    "Size",
    "Source",
    "Time",
    "Window",
]
