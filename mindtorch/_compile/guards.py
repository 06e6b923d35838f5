"""Guards: the conditions under which a compiled program computes what its function would (TorchDynamo's guards).

Guards compare the type, layout, dtype and keys of tensor arguments, and the values of numbers, strings and containers
of them. Everything else that the function can reach has to hold the same objects and equal values. The guards of a
program are a Python function, whose text is printed; it returns the tensors that the program takes.
"""
from __future__ import annotations

import linecache
from collections import deque
from collections.abc import Callable
from itertools import chain
from operator import is_
from typing import Any

from .._device import get_default_device
from .._dispatch.dispatcher import TENSOR_TYPES
from .._dispatch.keys import NONCONTIGUOUS
from .._dispatch.local import local
from .._dtype import get_default_dtype
from .breaks import CannotCompile
from .program import numbers
from .state import OPAQUE, PLAIN, State, plainly, said_of, same


class Guards:
    """The conditions of one program, found while its function was recorded."""

    def __init__(self) -> None:
        self.state = State()
        self.conditions: list[str] = []  #: in Python, on ``args`` and ``kwargs``
        self.said: list[str] = []  #: the conditions for readers
        self.inputs: list[tuple[str, Any, str]] = []  #: expression, tensor and name of the arguments' tensors
        self.count = 0  #: of them
        self.names: dict[str, Any] = {"local": local, "same": same, "get_default_dtype": get_default_dtype,
                                      "get_default_device": get_default_device}
        self.check: Callable[[Any, Any], Any] = lambda args, kwargs: None
        self.source = ""

    def constant(self, value: Any) -> str:
        """Return a name for an object in a condition."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any], names: list[str]) -> None:
        """Guard a call's arguments."""
        self.conditions.append(f"len(args) == {len(args)}")
        self.conditions.append(f"[*kwargs] == {[*kwargs]}" if kwargs else "not kwargs")
        for number, value in enumerate(args):
            self._argument(value, f"args[{number}]", names[number] if number < len(names) else f"args_{number}")
        for name, value in kwargs.items():
            self._argument(value, f"kwargs[{name!r}]", name)

    def _say(self, condition: str, said: str) -> None:
        self.conditions.append(condition)
        self.said.append(said)

    def _argument(self, value: Any, spelled: str, name: str) -> None:
        kind = value.__class__
        if kind in TENSOR_TYPES:
            twin = next((other for other, tensor, _ in self.inputs if tensor is value), None)
            if twin is not None:
                self._say(f"{spelled} is {twin}", f"{name} is the same tensor as before in the call")
                return
            self.inputs.append((spelled, value, name))
        elif value is None or kind is bool:
            self._say(f"{spelled} is {value}", f"{name} is {value}")
        elif kind in PLAIN:
            constant = self.constant(value)
            fast = kind in (int, str)
            self._say(f"{spelled}.__class__ is {self.constant(kind)} and {spelled} == {constant}" if fast
                      else f"same({constant}, {spelled})", f"{name} == {value!r}")
        elif kind in (list, tuple, deque) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            self._say(f"{spelled}.__class__ is {self.constant(kind)} and len({spelled}) == {len(value)}",
                      f"{name} is a {kind.__name__} of {len(value)}")
            self.state.visit(kind, kind.__name__)
            for number, item in enumerate(value):
                self._argument(item, f"{spelled}[{number}]", f"{name}_{number}")
        elif kind is dict and all(key.__class__ in (str, int, bool) for key in value):
            keys = self.constant([*value])
            self._say(f"{spelled}.__class__ is dict and [*{spelled}] == {keys}", f"{name} has the keys {[*value]}")
            for key, item in value.items():
                self._argument(item, f"{spelled}[{key!r}]", f"{name}_{key}")
        else:
            self._say(f"{spelled} is {self.constant(value)}", f"{name} is this {kind.__name__}")
            if not isinstance(value, OPAQUE):
                self.state.visit(value, name)

    def finish(self, captured: list[tuple[Any, str]]) -> None:
        """Write the function that checks the conditions and returns the tensors, with the arguments first."""
        lines = ["def guards(args, kwargs):", f"    if not ({' and '.join(self.conditions)}):", "        return None"]
        fetched, tests = [], []
        for number, (spelled, tensor, name) in enumerate(self.inputs):
            lines.append(f"    t{number} = {spelled}")
            tests.append(self._tensor(f"t{number}", tensor, name, True))
            fetched.append(f"t{number}")
        for tensor, name in captured:
            spelled = self.constant(tensor)
            tests.append(self._tensor(spelled, tensor, plainly(name), False))
            fetched.append(spelled)
        if len(self.inputs) > 1:
            tests.append(f"len({{{', '.join(f'id(t{i})' for i in range(len(self.inputs)))}}}) == {len(self.inputs)}")
        tests += [f"local.grad_enabled is {local.grad_enabled}",
                  f"get_default_dtype() is {self.constant(get_default_dtype())}",
                  f"get_default_device() == {self.constant(get_default_device())}"]
        self.said += [f"grad mode is {'on' if local.grad_enabled else 'off'}",
                      f"the default dtype is {get_default_dtype()}"]
        lines += [f"    if not ({test}):\n        return None" for test in tests]
        lines += self._places()
        lines.append(f"    return [{', '.join(fetched)}]")
        self.source = "\n".join(lines) + "\n"
        file = f"<torch.compile guards {next(numbers)}>"
        linecache.cache[file] = (len(self.source), None, self.source.splitlines(True), file)
        names = dict(self.names)
        exec(compile(self.source, file, "exec"), names)
        self.check = names["guards"]
        self.count, self.inputs, self.state.tensors = len(self.inputs), [], []

    def _tensor(self, spelled: str, tensor: Any, name: str, is_argument: bool) -> str:
        shape = tuple(tensor.shape)
        if tensor._array is None:
            raise CannotCompile(f"{name} is on {tensor.device}")
        tests = [f"{spelled}.__class__ is {self.constant(tensor.__class__)}"] if is_argument else []
        tests += [f"{spelled}._keys == {tensor._keys}", f"{spelled}._array.shape == {shape}",
                  f"{spelled}._dtype is {self.constant(tensor._dtype)}"]
        if tensor._keys & NONCONTIGUOUS:
            tests.append(f"{spelled}._strides() == {tensor._strides()}")
        sizes = ", ".join(map(str, shape))
        self.said.append(f"{name}: {tensor._dtype.name}[{sizes}]"
                         + (f", strides {tensor._strides()}" if tensor._keys & NONCONTIGUOUS else ", contiguous")
                         + (", requires grad" if tensor.requires_grad else ""))
        return " and ".join(tests)

    def _places(self) -> list[str]:
        """Write the lines that compare the Python state: all empty containers at once, all dictionaries at once by the
        identity of their values, and if these differ, and for other places, by value.
        """
        empty, dicts, places, lines = [], [], [], []
        for place in self.state.places:
            target = place.target
            if not place.values and isinstance(target, (dict, list, set)):
                empty.append(target)
            elif place.read.__name__ == "items_of" and getattr(target, "values", None).__class__ is type({}.values):
                dicts.append(target)
                places.append(place)
            else:
                lines.append(f"    if not {self.constant(place)}.holds():\n        return None")
        if dicts:
            held, sizes = self.constant(dicts), self.constant([*map(len, dicts)])
            keys = self.constant([*chain.from_iterable(dicts)])
            views = [target.values() for target in dicts]  # which follow what happens to the dictionaries
            values = self.constant([*chain.from_iterable(views)])
            self.names.update(chain=chain.from_iterable, is_=is_)
            lines.append(f"    if ([*map(len, {held})] != {sizes} or [*chain({held})] != {keys} or not "
                         f"all(map(is_, chain({self.constant(views)}), {values}))) and not all("
                         f"[place.holds() for place in {self.constant(places)}]):\n        return None")
        if self.state.objects:
            objects = self.state.objects
            kinds = self.constant([*map(type, objects)])
            lines.insert(0, f"    if [*map(type, {self.constant(objects)})] != {kinds}:\n        return None")
        self.said += said_of(self.state.places)
        if empty:
            lines.insert(0, f"    if any({self.constant(empty)}):\n        return None")
        return lines
