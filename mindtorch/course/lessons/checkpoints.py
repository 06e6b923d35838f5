"""Lesson 28: what is in a checkpoint?"""
from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from ..._base.interrupts import contextmanager
from ..tasks import Lab, lesson
from . import torch

#: The steps of a program, by pickle's opcode. Where pickle has several opcodes for one step, the argument is the number
#: of values that it takes: None stands for all above the mark.
STEPS = {
    "EMPTY_DICT": ("empty", "dict"), "EMPTY_LIST": ("empty", "list"), "EMPTY_TUPLE": ("tuple", 0),
    "TUPLE1": ("tuple", 1), "TUPLE2": ("tuple", 2), "TUPLE3": ("tuple", 3), "TUPLE": ("tuple", None),
    "MARK": ("mark", None), "APPEND": ("append", 1), "APPENDS": ("append", None), "SETITEM": ("set", 2),
    "SETITEMS": ("set", None), "REDUCE": ("call", None), "BINPERSID": ("storage", None), "BUILD": ("state", None),
    "NONE": ("value", None), "NEWTRUE": ("value", True), "NEWFALSE": ("value", False),
}
WITH_ARGUMENT = {
    "BINUNICODE": "value", "BININT": "value", "BININT1": "value", "BININT2": "value", "LONG1": "value",
    "BINFLOAT": "value", "BINPUT": "put", "LONG_BINPUT": "put", "BINGET": "get", "LONG_BINGET": "get",
}

Step = tuple[str, Any]


def program(data: bytes) -> list[Step]:
    """Return the program that a pickle is, as steps. Raises UnpicklingError for what lesson 28 leaves out."""
    steps: list[Step] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in STEPS:
            steps.append(STEPS[opcode.name])
        elif opcode.name in WITH_ARGUMENT:
            steps.append((WITH_ARGUMENT[opcode.name], argument))
        elif opcode.name == "GLOBAL":
            steps.append(("global", str(argument).replace(" ", ".")))
        elif opcode.name not in ("PROTO", "STOP"):
            raise pickle.UnpicklingError(f"the lesson's program has no step for {opcode.name}")
    return steps


def records(saved: Any) -> dict[str, bytes]:
    """Save a value with ``torch.save``, and return the records of the file by name."""
    file = io.BytesIO()
    torch.save(saved, file)
    with zipfile.ZipFile(file) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


@contextmanager
def replace_unpickler(rebuild: Callable[[Sequence[Step], dict[str, Any], Callable[[Any], Any]], Any]) -> Iterator[None]:
    """Have ``torch.load``, by default and with ``weights_only=True``, run its programs by ``rebuild`` in a block."""
    from ...serialization import weights_only

    unpickler: Any = weights_only.Unpickler
    own = unpickler.load

    def mine(self: Any) -> Any:
        return rebuild(program(self._whole._file.read()), self._allowed | self._user, self.persistent_load)

    unpickler.load = mine
    try:
        yield
    finally:
        unpickler.load = own


def _twice(value):
    return value, value


def _in_itself():
    items = [1]
    items.append(items)
    return items


def _with_attribute():
    state = OrderedDict(weight=1, bias=2)
    state._metadata = {"": {"version": 1}}
    return state


VALUES = {
    "3": lambda: 3,
    "[1, 2.5, 'three', None]": lambda: [1, 2.5, "three", None],
    "[1]": lambda: [1],
    "(1, 2, 3, 4)": lambda: (1, 2, 3, 4),
    "((), (1,), (1, 2), (3, 2, 1))": lambda: ((), (1,), (1, 2), (3, 2, 1)),
    "(1, (2, 3, 4, 5), 6, (7, 8))": lambda: (1, (2, 3, 4, 5), 6, (7, 8)),
    "{'lr': 0.1}": lambda: {"lr": 0.1},
    "{'a': 1, 'b': [2, 3], 'c': {'d': 4}}": lambda: {"a": 1, "b": [2, 3], "c": {"d": 4}},
    "a pair of one list twice": lambda: _twice([1, 2]),
    "a list that has itself as an item": _in_itself,
    "an OrderedDict with an attribute": _with_attribute,
    "a tensor": lambda: torch.arange(6.0).reshape(2, 3),
    "a dictionary of two views of one storage": lambda: (lambda x: {"x": x, "row": x[1]})(
        torch.arange(6.0).reshape(2, 3)),
    "the state of a Linear": lambda: OrderedDict(weight=torch.ones(1, 2), bias=torch.zeros(1)),
}
#: Programs that no honest file has.
FORGED: dict[str, list[Step]] = {
    "a file that names os.system and does not call it": [("global", "os.system"), ("value", 1)],
    "a file that calls os.system": [("global", "os.system"), ("value", "true"), ("tuple", 1), ("call", None)],
    "a file that calls what an allowed function returned": [
        ("global", "lesson.maker"), ("tuple", 0), ("call", None), ("value", 1), ("tuple", 1), ("call", None)],
    "a file that stores what an allowed function returned, and calls it": [
        ("global", "lesson.maker"), ("tuple", 0), ("call", None), ("put", 0), ("value", 1), ("tuple", 1),
        ("call", None), ("get", 0), ("value", 2), ("tuple", 1), ("call", None)],
    "a file that calls a number": [("value", 1), ("tuple", 0), ("call", None)],
    "a file with a step that does not exist": [("value", 1), ("import", "os"), ("value", 2)],
}


def _rebuilt(storage, offset, size, stride, *rest):
    return storage.as_strided(size, stride, offset)


def _shown(value):
    """Return the text of a value; an OrderedDict is written in another way since Python 3.12."""
    return f"OrderedDict: {dict(value)}" if isinstance(value, OrderedDict) else repr(value)


def _shared(value):
    """Return which parts of a value are one object, or share memory."""
    if isinstance(value, dict) and all(isinstance(item, torch.Tensor) for item in value.values()):
        return len({item.untyped_storage().data_ptr() for item in value.values()})
    if isinstance(value, list | tuple) and len(value) == 2:
        return value[0] is value[1] or value[1] is value
    return None


def _run(function, case):
    """Return the value that a program builds, and memory that it shares; or whether it is refused, and the calls."""
    called: list[Any] = []
    allowed = {"collections.OrderedDict": OrderedDict, "torch._utils._rebuild_tensor_v2": _rebuilt,
               "torch.FloatStorage": "float32", "lesson.maker": lambda: called.append}
    kept: dict[str, Any] = {}

    def load_storage(pid):
        kind, dtype, key, *_ = pid
        assert (kind, dtype) == ("storage", "float32")
        return kept.setdefault(key, torch.frombuffer(data[f"data/{key}"], dtype=torch.float32))

    if case in VALUES:
        data = {name: bytearray(record) for name, record in records(VALUES[case]()).items()}
        value = function(program(bytes(data["data.pkl"])), allowed, load_storage)
        attributes = {} if isinstance(value, torch.Tensor) else getattr(value, "__dict__", {})
        return {"the value": _shown(value), "its attributes": repr(attributes),
                "what is shared": _shared(value)}
    try:
        function(list(FORGED[case]), allowed, load_storage)
    except pickle.UnpicklingError:
        return {"what it called": tuple(called), "an UnpicklingError": True}
    return {"what it called": tuple(called), "an UnpicklingError": False}


LESSON = lesson(
    "checkpoints", rebuild=partial(
        Lab, cases=tuple((case,) for case in (*VALUES, *FORGED)), run=_run, describe=str,
        refuses=("serialization.weights_only.Unpickler.load",)))
