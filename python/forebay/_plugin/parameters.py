"""Parameters of a class: its annotated fields, checked, with units, and described by a schema."""

from __future__ import annotations

import ast
import inspect
import json
import linecache
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import PydanticJsonSchemaWarning
from pydantic_core import core_schema

from forebay import _engine, _written


class ParameterError(ValueError):
    """A parameter that is not understood: its path, empty for all of them, and what is wrong."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A number that scenarios write with its unit, and the class sees as a whole number."""

    dimension: str
    """As the engine calls it."""
    form: str
    """Its `format` in the schema."""
    scale: float
    """What the class counts by one of the base unit."""
    example: str

    def read(self, value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and self.dimension == "packets":
            return value
        if not isinstance(value, str):
            raise ValueError(f'expected a value such as "{self.example}", got {value!r}')
        base: float = json.loads(_engine.quantity(value, self.dimension))["value"]
        return round(base * self.scale)

    def written(self, value: int) -> str:
        return _engine.format_quantity(value / self.scale, self.dimension)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> Any:
        written = core_schema.plain_serializer_function_ser_schema(self.written)
        return core_schema.no_info_plain_validator_function(self.read, serialization=written)

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {"type": "string", "format": self.form, "examples": [self.example]}


Time = Annotated[Any, _Unit("time", "duration", 1e9, "5ms")]
"""A time, written as "5ms"; the class sees whole nanoseconds.

Example:
    >>> class Late(forebay.Discipline):
    ...     "Drops what has waited too long."
    ...
    ...     most: forebay.Time = "20ms"
    ...     "Longest wait."
    ...
    ...     def setup(self):
    ...         self.queue = forebay.Queue()
    ...
    ...     def enqueue(self, packet, now):
    ...         self.queue.append(packet)
    ...
    ...     def dequeue(self, now):
    ...         while self.queue:
    ...             packet = self.queue.popleft()
    ...             if now - packet.queued <= self.most:
    ...                 return packet
    ...             self.drop(packet)
    >>> result = forebay.run(scenario, discipline={"kind": Late, "most": "10ms"})
    >>> result.summary["queues"]["bottleneck"]["p99_delay_ms"] <= 10
    True
"""
Rate = Annotated[Any, _Unit("rate", "rate", 1.0, "10Mbit")]
"""A rate, written as "10Mbit"; the class sees whole bits a second.

Example:
    >>> class Steady(forebay.Source):
    ...     "Datagrams of one size at even distances."
    ...
    ...     rate: forebay.Rate = "1Mbit"
    ...     "Rate of IP packets."
    ...
    ...     def next(self, after):
    ...         return after + 500 * 8 * 1_000_000_000 // self.rate, 500
    >>> steady = scenario.with_classes(Steady).with_("traffic", [{"kind": "steady"}])
    >>> forebay.run(steady).summary["links"]["bottleneck"]["utilization"] < 0.2
    True
"""
Size = Annotated[Any, _Unit("size", "bytes", 1.0, "45KB")]
"""A size, written as "45KB"; the class sees whole bytes.

Example:
    >>> class Small(forebay.Discipline):
    ...     "Room for some bytes."
    ...
    ...     room: forebay.Size = "20KB"
    ...     "Bytes that may wait."
    ...
    ...     def setup(self):
    ...         self.queue = forebay.Queue()
    ...
    ...     def enqueue(self, packet, now):
    ...         if self.queue.bytes + packet.len <= self.room:
    ...             self.queue.append(packet)
    ...         else:
    ...             self.drop(packet, "overflow")
    ...
    ...     def dequeue(self, now):
    ...         return self.queue.popleft() if self.queue else None
    >>> result = forebay.run(scenario, discipline={"kind": Small, "room": "6KB"})
    >>> result.summary["queues"]["bottleneck"]["mean_bytes"] < 6000
    True
"""
Packets = Annotated[Any, _Unit("packets", "packets", 1.0, "100p")]
"""A number of packets, written as "100p" or 100; the class sees the number.

Example:
    >>> class Short(forebay.Discipline):
    ...     "Drops what finds a long queue."
    ...
    ...     limit: forebay.Packets = "20p"
    ...     "Packets that may wait."
    ...
    ...     def setup(self):
    ...         self.queue = forebay.Queue()
    ...
    ...     def enqueue(self, packet, now):
    ...         if len(self.queue) < self.limit:
    ...             self.queue.append(packet)
    ...         else:
    ...             self.drop(packet, "overflow")
    ...
    ...     def dequeue(self, now):
    ...         return self.queue.popleft() if self.queue else None
    >>> result = forebay.run(scenario, discipline={"kind": Short, "limit": "5p"})
    >>> result.summary["queues"]["bottleneck"]["max_packets"]
    5
"""


class Parameters:
    """The parameters of one class."""

    def __init__(self, owner: type, base: type) -> None:
        """Look at the fields that `owner` has beyond those of `base`."""
        described = dict(_described(owner, base))
        fields: dict[str, Any] = {}
        for name, hint in _fields(owner, base).items():
            default = getattr(owner, name, None)
            if default is None:
                raise ParameterError(name, "a parameter needs a default value")
            info = default if isinstance(default, FieldInfo) else FieldInfo(default=default)
            info = FieldInfo.merge_field_infos(FieldInfo.from_annotation(hint), info)
            words = info.description or described.get(name) or f"{name.replace('_', ' ')}."
            fields[name] = (hint, FieldInfo.merge_field_infos(info, description=words))
        self._model: type[BaseModel] = create_model(owner.__name__)
        for name, field in fields.items():
            # Pydantic does not say which field it cannot describe.
            with _describing(name):
                self._model = create_model(owner.__name__, __config__=_CONFIG, **{name: field})
                self.schema()
        self._model = create_model(owner.__name__, __config__=_CONFIG, **fields)

    def read(self, given: dict[str, Any]) -> dict[str, Any]:
        """Every parameter's value, as the class sees it."""
        return dict(self._read(given))

    def effective(self, given: dict[str, Any]) -> dict[str, Any]:
        """Every parameter's value, as a scenario writes it."""
        return self._read(given).model_dump(mode="json")

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of all of them."""
        defaults = self.effective({})
        schema = self._model.model_json_schema()
        for name, default in defaults.items():
            schema["properties"][name] |= {"default": default}
        return schema

    def _read(self, given: dict[str, Any]) -> BaseModel:
        try:
            return self._model.model_validate(given)
        except ValidationError as error:
            raise ParameterError(*_written.complaint(self._model, error)) from None


_CONFIG = ConfigDict(extra="forbid", strict=True, validate_default=True, allow_inf_nan=False)


@contextmanager
def _describing(name: str) -> Iterator[None]:
    """Let what goes wrong with a parameter's type or its schema name the parameter."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PydanticJsonSchemaWarning)
            yield
    except ParameterError:
        raise
    except Exception as error:
        why = str(error).splitlines()[0]
        raise ParameterError(name, f"a scenario cannot write it, or its schema: {why}") from None


_known: dict[type, Parameters] = {}


def parameters_of(owner: type, base: type) -> Parameters:
    """The parameters of a class: its fields beyond those of `base`."""
    if owner not in _known:
        _known[owner] = Parameters(owner, base)
    return _known[owner]


hints: dict[type, dict[str, Any]] = {}
"""Annotations of classes that came from another process, where the names in them are known."""


def hints_of(owner: type) -> dict[str, Any]:
    """The annotations of a class and its bases, evaluated."""
    return hints.get(owner) or get_type_hints(owner, include_extras=True)


def _fields(owner: type, base: type) -> dict[str, Any]:
    """The annotated fields of a class beyond those of `base`, those of its own bases first."""
    known = hints_of(owner)
    names: dict[str, None] = {}
    for each in reversed(owner.__mro__):
        if issubclass(each, base) and each is not base:
            names.update(dict.fromkeys(inspect.get_annotations(each)))
    public = (name for name in names if not name.startswith("_"))
    return {name: known[name] for name in public if get_origin(known[name]) is not ClassVar}


def _described(owner: type, base: type) -> Iterator[tuple[str, str]]:
    """The text that stands below each field, where the source is at hand."""
    for each in reversed(owner.__mro__):
        functions = [value for value in vars(each).values() if inspect.isfunction(value)]
        if not issubclass(each, base) or each is base or not functions:
            continue
        source = "".join(linecache.getlines(functions[0].__code__.co_filename))
        try:
            nodes = list(ast.walk(ast.parse(source)))
        except SyntaxError:
            continue
        for node in nodes:
            if isinstance(node, ast.ClassDef) and node.name == each.__name__:
                yield from _texts(node)


def _texts(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(value=ast.Constant(value=str(words))):
                    yield field.target.id, inspect.cleandoc(words)
