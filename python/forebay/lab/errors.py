"""What goes wrong in a lab."""


class LabError(OSError):
    """A lab that cannot be built or went wrong; the message says what, and the remedy."""
