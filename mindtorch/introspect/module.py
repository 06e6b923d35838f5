"""Facts about a module and its submodules, as plain data: nothing is run but ``extra_repr``."""
from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import thread_time
from typing import Any

from .libraries import library_of
from .library import Layout, Library
from .placed import placement_text
from .repeats import repeats
from .sampling import Scan, scan

SECONDS = 0.3  #: in which all members' values are searched for NaN and infinities; of later ones, only the beginning
EXTRA = 120  #: characters at most of what a module says of itself
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


@dataclass(frozen=True)
class MemberFacts:
    """A parameter or, if not ``is_parameter``, a buffer. ``tied`` is the path of the same tensor at the place where
    it comes first, ``shares`` that of another tensor on the same memory; '' if there is none. What a lazy module has
    before its first call is not ``materialized``: its shape, which is (0,) here, is not known yet. ``scan`` is
    None for a tied tensor, and where the values cannot be read now from the host's memory. ``placements`` are those of
    a DTensor.
    """

    name: str
    is_parameter: bool
    dtype: str
    shape: tuple[int, ...]
    device: str
    elements: int
    bytes: int
    requires_grad: bool
    has_grad: bool
    persistent: bool
    tied: str
    shares: str
    materialized: bool
    scan: Scan | None
    placements: str = ""


@dataclass(frozen=True)
class ModuleFacts:
    """A module: its ``name`` in the module above it, its ``path`` from the top, its class, what it says of itself.

    ``parameters``, ``trainable`` and ``bytes`` (of parameters and buffers) count what it and those below it hold, each
    tensor once and where it comes first; ``gradients`` is how many of the ``tensors`` parameters have one.
    ``same_as`` is the path of the same module at the place where it comes first, whose contents are not repeated.
    ``runs`` says which children are equal in everything but name: (start, period, times) of ``repeats``.
    """

    name: str
    path: str
    kind: str
    extra: str
    training: bool
    members: tuple[MemberFacts, ...]
    children: tuple[ModuleFacts, ...]
    parameters: int
    trainable: int
    bytes: int
    tensors: int
    gradients: int
    hooks: int
    same_as: str
    devices: tuple[str, ...]
    dtypes: tuple[str, ...]
    runs: tuple[tuple[int, int, int], ...] = field(default=(), repr=False)


def module_facts(module: Any, name: str = "") -> ModuleFacts:
    """Describe a module, called ``name``, and all below it."""
    return _Reader().read(module, name, "")


class _Reader:
    """Reads a tree of modules; knows where each tensor and each module came first."""

    def __init__(self) -> None:
        self.tensors: dict[int, str] = {}
        self.storages: dict[int, str] = {}
        self.modules: dict[int, str] = {}
        self.end = thread_time() + SECONDS

    def read(self, module: Any, name: str, path: str) -> ModuleFacts:
        first = self.modules.setdefault(id(module), path)
        again = first != path
        members = () if again else tuple(self._members(module, path))
        children = () if again else tuple(
            self.read(child, key, f"{path}.{key}" if path else key)
            for key, child in module._modules.items() if child is not None)
        own = [member for member in members if not member.tied]
        learnt = [member for member in own if member.is_parameter]
        return ModuleFacts(
            name=name, path=path, kind=type(module).__name__, extra=extra_of(module, EXTRA), training=module.training,
            members=members, children=children,
            parameters=_total(children, "parameters") + sum(member.elements for member in learnt),
            trainable=_total(children, "trainable") + sum(m.elements for m in learnt if m.requires_grad),
            bytes=_total(children, "bytes") + sum(member.bytes for member in own),
            tensors=_total(children, "tensors") + len(learnt),
            gradients=_total(children, "gradients") + sum(member.has_grad for member in learnt),
            hooks=sum(len(getattr(module, table)) for table in HOOKS), same_as=(first or "the whole") if again else "",
            devices=_all(children, "devices", (member.device for member in members)),
            dtypes=_all(children, "dtypes", (member.dtype for member in members)),
            runs=tuple(repeats([alike(child) for child in children])))

    def _members(self, module: Any, path: str) -> Any:
        tables: tuple[tuple[bool, Mapping[str, Any]], ...] = ((True, module._parameters), (False, module._buffers))
        for is_parameter, table in tables:
            for name, tensor in table.items():
                if tensor is None:
                    continue
                here = f"{path}.{name}" if path else name
                first = self.tensors.setdefault(id(tensor), here)
                library = library_of(tensor)
                owner = self.storages.setdefault(id(library.owner(tensor)), here)
                look = library.layout(tensor)
                elements = math.prod(look.shape)
                yield MemberFacts(
                    name=name, is_parameter=is_parameter, dtype=look.dtype.name, shape=look.shape,
                    device=look.device, elements=elements, bytes=elements * look.dtype.itemsize,
                    requires_grad=tensor.requires_grad, has_grad=library.grad(tensor) is not None,
                    persistent=is_parameter or name not in module._non_persistent_buffers_set,
                    tied="" if first == here else first, shares="" if owner in (here, first) else owner,
                    materialized=look.materialized,
                    scan=self._scan(library, tensor, look) if first == here else None,
                    placements=placement_text(tensor))

    def _scan(self, library: Library, tensor: Any, look: Layout) -> Scan | None:
        values = library.values(tensor) if library.is_near(tensor) else None
        return None if values is None else scan(values, look.dtype.name, self.end - thread_time())


def alike(module: ModuleFacts) -> Hashable:
    """Return a key that is equal for modules that differ only in names and memory."""
    members = tuple((m.name, m.is_parameter, m.dtype, m.shape, m.device, m.requires_grad, m.has_grad, m.persistent,
                     m.tied, m.shares) for m in module.members)
    children = tuple((child.name, alike(child)) for child in module.children)
    return module.kind, module.extra, module.training, module.hooks, module.same_as, members, children


def members_of(module: ModuleFacts) -> Iterator[tuple[str, MemberFacts]]:
    """Yield the parameters and buffers of a module and of those below it, with their paths."""
    for member in module.members:
        yield (f"{module.path}.{member.name}" if module.path else member.name), member
    for child in module.children:
        yield from members_of(child)


def extra_of(module: Any, most: int) -> str:
    """Return a module's ``extra_repr``, cut to ``most`` characters."""
    try:
        text = " ".join(str(module.extra_repr()).split())
    except Exception as error:
        return f"extra_repr raised {type(error).__name__}"
    return text if len(text) <= most else text[:most] + "…"


def _total(children: Sequence[ModuleFacts], what: str) -> int:
    return sum(getattr(child, what) for child in children)


def _all(children: Sequence[ModuleFacts], what: str, own: Any) -> tuple[str, ...]:
    """Return the distinct values here and below."""
    return tuple(dict.fromkeys([*own, *(value for child in children for value in getattr(child, what))]))
