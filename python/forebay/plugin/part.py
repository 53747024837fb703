"""What classes of all families have in common: a name, words, and parameters."""

from __future__ import annotations

from typing import Any, ClassVar

from forebay.plugin.parameters import parameters_of


class Part:
    """A part of a scenario that is a class; its annotated fields are parameters."""

    family: ClassVar[str] = ""
    """What it is: "discipline", "control" or "source"."""
    required: ClassVar[tuple[str, ...]] = ()
    """Methods that a class of this family must have."""
    name: ClassVar[str] = ""
    """What a scenario writes as its kind; the class's name in small letters unless given."""
    source: ClassVar[str] = "a class in Python"
    """Paper, section or RFC that it follows."""

    def __init__(self, **parameters: Any) -> None:
        """Set the parameters, then call `setup`.

        Raises:
            ParameterError: an unknown one, or a value that is not allowed.
        """
        for name, value in parameters_of(type(self), base_of(type(self))).read(parameters).items():
            setattr(self, name, value)
        self.setup()

    def setup(self) -> None:
        """Make what an instance needs; parameters, and what is known of the place, are set."""


def base_of(owner: type[Part]) -> type[Part]:
    """The class of a family of which `owner` is one."""
    return next(each for each in owner.__mro__ if "family" in vars(each))
