"""The lab in virtual time: real Linux in user mode, without root, reproducible.

    >>> from forebay import lab, load
    >>> result = lab.virtual.run(load("examples/lab.toml"), seed=7)

`linux/` is what the guest is built of; `kernel` finds and builds it, `machine` boots it, `guest` is
what runs inside, `runs` what is done outside.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forebay.lab.virtual.kernel import Kernel, build, find
    from forebay.lab.virtual.runs import run, run_all

__all__ = ["Kernel", "build", "find", "run", "run_all"]


def __getattr__(name: str) -> object:
    # A guest has no use for what is done outside.
    if name not in __all__:
        raise AttributeError(f"module 'forebay.lab.virtual' has no attribute {name!r}")
    home = "runs" if name.startswith("run") else "kernel"
    return getattr(import_module(f"forebay.lab.virtual.{home}"), name)
