"""Classes for the engine: of a file, or handed over; and words for what they do wrong.

The engine calls `load`, the methods of `Kind`, `blame`, `here`, `of_method` and `stop`.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import inspect
import json
import linecache
import re
import sys
import threading
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

from forebay import _disk
from forebay._engine import ScenarioError
from forebay._plugin.parameters import ParameterError, Parameters, hints, hints_of, parameters_of
from forebay._plugin.part import CongestionControl, Discipline, Endpoint, Part, Source, base_of
from forebay._plugins import CLASS

FAMILIES: tuple[type[Part], ...] = (Discipline, CongestionControl, Source, Endpoint)

_WORDS = {
    "discipline": "discipline",
    "control": "congestion control",
    "source": "source",
    "endpoint": "endpoint",
}
"""What messages call families."""
_PACKAGE = str(Path(__file__).parents[1])
_loaded: dict[tuple[Path, str], list[Kind]] = {}
_kinds: dict[type[Part], Kind] = {}
_handed: dict[str, tuple[type[Part], bytes, str]] = {}
"""Classes of this process: each as it goes to another one, and the hash of that."""
_lock = threading.RLock()


class PluginError(ValueError):
    """A plug-in that cannot be used, and why."""


class Stopped(BaseException):
    """Raised in a call that does not return."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the engine knows of a class."""

    owner: type[Part]
    family: str
    name: str
    summary: str
    source: str
    parameters: Parameters
    keeps_order: bool
    shapes: bool

    def called(self, path: str) -> str:
        """What messages call it, of the plug-in `path`: with the line on which the class begins."""
        code = getattr(self.owner, self.owner.required[0]).__code__
        shown = Path(code.co_filename).name if path.startswith(CLASS) else f"plug-in {path}"
        line = code.co_firstlineno
        # A class that came from another process has no source here, but its methods have lines.
        with contextlib.suppress(OSError, TypeError):
            line = inspect.getsourcelines(self.owner)[1]
        return f'{shown}:{line}, {_WORDS[self.family]} "{self.name}"'

    @property
    def schema(self) -> str:
        """The JSON Schema of the parameters."""
        return json.dumps(self.parameters.schema())

    def effective(self, given: str) -> str:
        """The parameters (JSON) with every default filled in."""
        return json.dumps(self.parameters.effective(_table(given)))

    def make(self, given: str, place: dict[str, int]) -> Part:
        """An instance with the parameters (JSON), which finds `place` among its attributes."""
        made = self.owner.__new__(self.owner)
        for name, value in place.items():
            setattr(made, name, value)
        Part.__init__(made, **_table(given))
        return made


def _table(given: str) -> dict[str, Any]:
    table = json.loads(given)
    if not isinstance(table, dict):
        raise ParameterError("", f"expected a table, got {given}")
    return table


def kind_of(owner: type[Part]) -> Kind:
    """What the engine is to know of a class."""
    if owner not in _kinds:
        _kinds[owner] = _kind_of(owner)
    return _kinds[owner]


def _kind_of(owner: type[Part]) -> Kind:
    what = f"class {owner.__name__}"
    for method in owner.required:
        if not callable(getattr(owner, method, None)):
            raise PluginError(f"{what} has no method `{method}`")
    if owner.__init__ is not base_of(owner).__init__:
        raise PluginError(f"{what} has a method `__init__`; call it `setup(self)`")
    try:
        parameters = parameters_of(owner, base_of(owner))
    except ParameterError as error:
        place, message = error.args
        raise PluginError(f"{what}: {place}: {message}" if place else message) from None
    except (NameError, AttributeError) as error:
        raise PluginError(f"{what}: an annotation: {error}") from None
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", owner.__name__)
    name = owner.name or words.replace("_", "-").lower()
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9._-]+", name):
        raise PluginError(
            f"{what} cannot be called {json.dumps(name, ensure_ascii=False, default=repr)}; "
            'use letters, digits, "-", "_" and "."'
        )
    summary = (owner.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return Kind(
        owner=owner,
        family=owner.family,
        name=name,
        summary=summary if "__doc__" in vars(owner) and summary else f"{owner.__name__}, a class",
        source=owner.source,
        parameters=parameters,
        keeps_order=issubclass(owner, Discipline) and owner.keeps_order,
        shapes=hasattr(owner, "wake"),
    )


def load(path: str, base: str | Path) -> tuple[str, list[Kind]]:
    """The SHA-256 of a plug-in, a file or a class that was handed over, and its parts."""
    if path.startswith(CLASS):
        if path not in _handed:
            raise PluginError(
                "only the process that defined this class knows it; put it into a file, and name "
                'that in plugins = ["mine.py"]'
            )
        owner, _, digest = _handed[path]
        return digest, [kind_of(owner)]
    whole = _disk.leads_to(Path(base, path))
    try:
        content = _disk.read(whole)
    except ScenarioError as error:
        raise PluginError(f"cannot be read: {str(error).removeprefix(f'{whole}: ')}") from None
    digest = hashlib.sha256(content).hexdigest()
    with _lock:
        if (whole, digest) not in _loaded:
            _loaded[whole, digest] = _classes(whole, content, digest)
    return digest, _loaded[whole, digest]


def _classes(path: Path, content: bytes, digest: str) -> list[Kind]:
    module = ModuleType(f"forebay_plugin_{digest[:16]}")
    module.__file__ = str(path)
    # Annotations are looked up in the module, and texts in the file as it is now.
    sys.modules[module.__name__] = module
    linecache.checkcache(str(path))
    try:
        exec(compile(content, str(path), "exec", dont_inherit=True), vars(module))
    except SyntaxError as error:
        raise PluginError(f"line {error.lineno}: {error.msg}") from None
    except Exception as error:
        raise PluginError(blame(error, error.__traceback__)) from None
    found = [
        each
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, Part) and not name.startswith("_")
    ]
    own = [each for each in found if each.__module__ == module.__name__]
    if not own:
        raise PluginError(
            "it defines no part: no subclass of forebay.Discipline, CongestionControl, Source "
            "or Endpoint"
        )
    return [kind_of(each) for each in own]


def handed(owner: type, family: str = "") -> str:
    """The name under which scenarios may name a class of this process as a plug-in.

    Args:
        owner: the class.
        family: the one of which it must be; any unless given.
    """
    import cloudpickle

    wanted = tuple(each for each in FAMILIES if family in ("", each.family))
    if not issubclass(owner, wanted):
        names = " or ".join(f"forebay.{each.__name__}" for each in wanted)
        raise PluginError(f"{owner.__name__} is no class of {names}")
    kind = kind_of(owner)
    # Whole, also if it could be imported: its content is its identity, and goes with it.
    module = sys.modules[owner.__module__]
    cloudpickle.register_pickle_by_value(module)
    try:
        content = cloudpickle.dumps((owner, hints_of(owner)))
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    digest = hashlib.sha256(content).hexdigest()
    name = f"{CLASS}{kind.name}-{digest[:16]}"
    _handed.setdefault(name, (owner, content, digest))
    return name


def packed(names: list[str]) -> dict[str, bytes]:
    """The classes that are called so, for another process."""
    return {name: _handed[name][1] for name in names if name in _handed}


def unpack(classes: dict[str, bytes]) -> None:
    """Take in the classes of another process."""
    import cloudpickle

    for name, content in classes.items():
        if name not in _handed:
            digest = hashlib.sha256(content).hexdigest()
            owner, known = cloudpickle.loads(content)
            hints[owner] = known
            _handed[name] = (owner, content, digest)


def blame(error: BaseException, trace: TracebackType | None) -> str:
    """Where an exception was raised, in the innermost line that is the user's, and what it says."""
    frames = [
        frame
        for frame in traceback.extract_tb(trace)
        if not frame.filename.startswith((_PACKAGE, sys.base_prefix, sys.prefix, "<frozen"))
    ]
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, Stopped):
        what = "it did not return, and was stopped"
    if not frames:
        return what
    return f"{_place(frames[-1].filename, frames[-1].lineno, frames[-1].name)}: {what}"


def here() -> str | None:
    """The line of a class that is under way in this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Part):
            return _place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return None


def of_method(method: Any) -> str:
    """The line on which a method begins."""
    function = getattr(method, "__func__", method)
    if not isinstance(function, FunctionType):
        return f"in {getattr(method, '__name__', method)}"
    code = function.__code__
    return _place(code.co_filename, code.co_firstlineno, code.co_name)


def stop(thread: int) -> None:
    """End the call that is under way in a thread."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Stopped))


def _place(file: str, line: int | None, function: str) -> str:
    return f"{Path(file).name}:{line}, in {function}"
