"""Plug-ins in Python: a class is a discipline, and its annotated fields are its parameters.

`discipline` has the class from which they come, `parameters` reads fields, `loading` brings classes
to the engine, and `process` runs several at a time.
"""

from forebay._engine import Packet, Queue
from forebay.plugin.discipline import Discipline
from forebay.plugin.parameters import Packets, Rate, Size, Time

__all__ = ["Discipline", "Packet", "Packets", "Queue", "Rate", "Size", "Time"]
