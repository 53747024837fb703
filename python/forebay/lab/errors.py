"""What goes wrong in a lab."""


class LabError(OSError):
    """A lab that cannot be built or went wrong; the message says what, and the remedy.

    Example:
        >>> lab.virtual.run(scenario, gate="nowhere.so")
        Traceback (most recent call last):
            ...
        LabError: nowhere.so: there is no such file
    """
