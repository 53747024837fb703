"""Networks as people have them: files of others read into nodes and links, and made a scenario."""

from forebay._topology.network import Link, Network, Node, Notes
from forebay._topology.reading import read
from forebay._topology.scenario import Choices, scenario_of

__all__ = ["Choices", "Link", "Network", "Node", "Notes", "read", "scenario_of"]
