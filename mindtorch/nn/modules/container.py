"""Modules and parameters in sequences and dictionaries; mirrors ``torch.nn.modules.container``."""
from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain, groupby
from typing import Any

from ..._tensor import Tensor
from ..module import Module, indented, typename
from ..parameter import Parameter


def _position(index: Any, size: int) -> int:
    """Return an index counted from the start; IndexError if it is out of range."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size


class _Sequence(Module):
    """Base class of ``Sequential`` and ``ModuleList``: modules in order."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[_position(index, len(names))]]:
            delattr(self, name)
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(self._modules.values()))

    def pop(self, key: int | slice) -> Any:
        """Remove a module, or the modules of a slice, and return it (``torch.nn.ModuleList.pop``)."""
        found = self[key]  # type: ignore[index]
        del self[key]
        return found

    def append(self, module: Module) -> Any:
        """Add a module at the end (``torch.nn.ModuleList.append``)."""
        self.add_module(str(len(self)), module)
        return self

    def _shift_in(self, index: int, module: Module) -> None:
        """Insert a module at a position, and shift the ones after it."""
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module


class Sequential(_Sequence):
    """Calls modules, given as arguments or in an ``OrderedDict``, one after the other (``torch.nn.Sequential``)."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0]
        else:
            named = OrderedDict((str(i), module) for i, module in enumerate(args))
        for name, module in named.items():
            self.add_module(name, module)

    def forward(self, input):  # as PyTorch's, which graphs print
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return list(self._modules.values())[_position(index, len(self))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[_position(index, len(self))], module)

    def _check_operand(self, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")

    def _check_factor(self, factor: Any) -> None:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")

    def __add__(self, other: Sequential) -> Sequential:
        self._check_operand(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Any:
        self._check_operand(other)
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Any:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def insert(self, index: int, module: Module) -> Any:
        """Put a module at a position (``torch.nn.Sequential.insert``). Raises IndexError if the position is out of
        range, and AssertionError if the value is not a module.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        self._shift_in(index + size if index < 0 else index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Any:
        """Add modules at the end (``torch.nn.Sequential.extend``)."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Sequence):
    """A list of modules, which are registered (``torch.nn.ModuleList``)."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[str(_position(index, len(self)))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(_position(index, len(self))), module)

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at a position (``torch.nn.ModuleList.insert``)."""
        self._shift_in(index, module)

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end (``torch.nn.ModuleList.extend``); TypeError if ``modules`` is not iterable."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Show modules of the same repr in one line: ``(0-3): 4 x Linear(...)``."""
        lines, start = [], 0
        for text, same in groupby(map(repr, self)):
            count = len(list(same))
            place = f"({start})" if count == 1 else f"({start}-{start + count - 1})"
            lines.append(indented(f"{place}: {text}" if count == 1 else f"{place}: {count} x {text}"))
            start += count
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{self._get_name()}()"


def _pairs(kind: str, given: Any, ordered: type | tuple[type, ...]) -> Iterator[tuple[str, Any]]:
    """Yield pairs of a mapping (sorted, unless ordered) or a sequence; TypeError or ValueError for no pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{kind}.update should be called with an iterable of key/value pairs, but got "
                        f"{type(given).__name__}")
    if isinstance(given, ordered):
        yield from given.items()  # type: ignore[attr-defined]
    elif isinstance(given, Mapping):
        yield from sorted(given.items())
    else:
        for i, pair in enumerate(given):
            if not isinstance(pair, Iterable):
                raise TypeError(f"{kind} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
            found: Any = pair
            if len(found) != 2:
                raise ValueError(f"{kind} update sequence element #{i} has length {len(found)}; 2 is required")
            yield found[0], found[1]


class ModuleDict(Module):
    """A dictionary of modules, which are registered (``torch.nn.ModuleDict``)."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules (``torch.nn.ModuleDict.clear``)."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it (``torch.nn.ModuleDict.pop``)."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """Return the names (``torch.nn.ModuleDict.keys``)."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        """Return the names and modules in pairs (``torch.nn.ModuleDict.items``)."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """Return the modules (``torch.nn.ModuleDict.values``)."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs (``torch.nn.ModuleDict.update``)."""
        for key, module in _pairs("ModuleDict", modules, (Mapping, ModuleDict)):
            self[key] = module


# -- parameters ----------------------------------------------------------------------------------------------


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(name: Any, value: Any, kind: str) -> str:
    """Return the line of a list's or dictionary's repr for one value."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.size()))
    device = f" ({value.device})" if value.device.type not in ("cpu", "meta") else ""
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({name}): {what} containing: [{kind} of size {size}{device}]"


class ParameterList(Module):
    """A list of parameters, which are registered; tensors become parameters (``torch.nn.ParameterList``)."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(*index.indices(len(self))))
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index: int, param: Tensor) -> None:
        setattr(self, str(_position(index, len(self))), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Any:
        return self.extend(parameters)

    def append(self, value: Any) -> Any:
        """Add a value at the end (``torch.nn.ParameterList.append``)."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        """Add values at the end (``torch.nn.ParameterList.extend``). Raises TypeError if ``values`` is not iterable, or
        is a tensor.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_described(i, value, str(getattr(value, "dtype", ""))) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters, which are registered; tensors become parameters (``torch.nn.ParameterDict``)."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._checked(key), _as_parameter(value))

    @staticmethod
    def _checked(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string "
                            f"(type is '{type(key).__name__}').")
        return key

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dictionary of the same parameters (``torch.nn.ParameterDict.copy``)."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, set to ``default`` if it has none (``torch.nn.ParameterDict.setdefault``)."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove everything (``torch.nn.ParameterDict.clear``)."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a value and return it (``torch.nn.ParameterDict.pop``)."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Remove the last key and value and return them (``torch.nn.ParameterDict.popitem``)."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or ``default`` (``torch.nn.ParameterDict.get``)."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return another dictionary, with one value for all keys (``torch.nn.ParameterDict.fromkeys``)."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """Return the names (``torch.nn.ParameterDict.keys``)."""
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return the names and values in pairs (``torch.nn.ParameterDict.items``)."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterator[Any]:
        """Return the values (``torch.nn.ParameterDict.values``)."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping (a plain ``dict``'s in the order of its keys) or from pairs
        (``torch.nn.ParameterDict.update``).
        """
        for key, value in _pairs("ParameterDict", parameters, (OrderedDict, ParameterDict)):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_described(key, value, typename(value)) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        copy = other.copy()
        copy.update(self)
        return copy

    def __ior__(self, other: ParameterDict) -> Any:
        self.update(other)
        return self
