"""Contents of containers: lists, dicts, dataclasses, optimizers, loaders, down to their tensors."""
from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import GeneratorType
from typing import Any

from .libraries import is_tensor
from .names import items, names_of
from .sampling import BUDGET
from .tensor import TensorFacts, tensor_facts

ITEMS = 64  #: of a container at most that are described
TENSORS = 200  #: at most that are described of all that is inside
LOOKED_AT = 40  #: tensors at most whose values are looked at
DEPTH = 6  #: levels at most
SEARCHED = 256  #: items at most among which a tensor is looked for
#: Functions of modules that yield what a module holds: a generator of one is shown by asking the module again.
LISTINGS = {"named_parameters", "parameters", "named_buffers", "buffers", "named_modules", "modules", "named_children",
            "children"}
Items = Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class ItemFacts:
    """Something and what is inside it. ``label`` says where it is: ``[0]``, ``['weight']``, ``.data``.

    ``text`` is a short description of what is no tensor; ``tensor`` are the facts of what is one; ``left_out`` counts
    items that ``children`` does not list. ``same_as`` is where the same object stood before, '' if nowhere.
    """

    label: str
    kind: str
    text: str
    tensor: TensorFacts | None
    children: tuple[ItemFacts, ...]
    left_out: int
    same_as: str


def container_facts(value: Any, namespace: Mapping[str, Any] | None = None, name: str = "") -> ItemFacts:
    """Describe a container and what is inside, without waiting, and without taking anything from an iterator."""
    names = names_of(namespace)
    here = (f"{name}.", f"{name}[")  # the labels say that already
    return _Description({at: said for at, said in names.items() if not name or not said.startswith(here)}).of(
        name, value, 0)


def holds_tensors(value: Any, depth: int = 3) -> bool:
    """Return True if a tensor is among the first items of a container, or of the containers in it."""
    if is_tensor(value):
        return True
    inside = _items(value) if depth else None
    return inside is not None and any(holds_tensors(item, depth - 1) for _, item in islice(inside, SEARCHED))


class _Description:
    """One walk: what was met before is not described again."""

    def __init__(self, names: Mapping[int, str]):
        self.names = names
        self.seen: dict[int, str] = {}
        self.kept: list[Any] = []  # so that no ``id`` is that of another object meanwhile
        self.tensors = 0

    def of(self, label: str, value: Any, depth: int, path: str = "") -> ItemFacts:
        path = f"{path}{label}"
        kind = type(value).__name__
        if is_tensor(value):
            self.tensors += 1
            facts = tensor_facts(value, self.names, values=self.tensors <= LOOKED_AT, seconds=BUDGET)
            return ItemFacts(label, kind, "", facts, (), 0, "")
        inside = _items(value)
        if inside is None:
            return ItemFacts(label, kind, _short(value), None, (), 0, "")
        if id(value) in self.seen:
            return ItemFacts(label, kind, "", None, (), 0, self.seen[id(value)] or "the whole")
        self.seen[id(value)] = path
        self.kept.append(value)
        found, left = [], 0
        for i, (where, item) in enumerate(inside):
            if i >= ITEMS or self.tensors >= TENSORS or depth >= DEPTH:
                left = 1 + sum(1 for _ in inside) if isinstance(inside, Iterator) else 0
                break
            if isinstance(item, State) and id(item.of) in self.names:
                where = f".state[{self.names[id(item.of)]}]"
            found.append(self.of(where, item, depth + 1, path))
        return ItemFacts(label, kind, _about(value), None, tuple(found), left, "")


def _short(value: Any) -> str:
    if isinstance(value, type) or callable(value):
        return getattr(value, "__qualname__", None) or reprlib.repr(value)
    return "" if type(value).__repr__ is object.__repr__ else reprlib.repr(value)  # an address tells nothing


def _about(value: Any) -> str:
    """Describe a container beyond its kind."""
    describe = _row(value)
    return describe[0](value) if describe else _length(value)


def _items(value: Any) -> Iterator[tuple[str, Any]] | None:
    row = _row(value)
    return iter(row[1](value)) if row else items(value)


# -- objects of the libraries, by the names of their classes: a program may not have loaded them -----------------------


def _row(value: Any) -> Row | None:
    """Return an object's description and contents; None unless a library knows it."""
    if isinstance(value, GeneratorType):
        return (lambda generator: f"what {generator.__qualname__} will yield", _of_listing) if _listing(value) else None
    for base in type(value).__mro__:
        if (row := ROWS.get((base.__module__, base.__qualname__))) is not None:
            return row
    return None


def _of_optimizer(optimizer: Any) -> Items:
    for i, group in enumerate(optimizer.param_groups):
        settings = {key: value for key, value in group.items() if key != "params"}
        yield f".param_groups[{i}]", Group(list(group["params"]), settings)
    for parameter, state in optimizer.state.items():
        yield ".state[…]", State(parameter, dict(state))


@dataclass
class Group:
    """A parameter group of an optimizer."""

    params: list[Any]
    settings: dict[str, Any]


@dataclass
class State:
    """The state that an optimizer keeps of a parameter."""

    of: Any
    state: dict[str, Any]


def _of_state(state: State) -> Items:
    yield " of", state.of
    for key, item in state.state.items():
        yield f"[{key!r}]", item


def _of_loader(loader: Any) -> Items:
    for name in ("dataset", "batch_size", "sampler", "batch_sampler", "collate_fn", "num_workers", "drop_last",
                 "pin_memory", "generator"):
        yield f".{name}", getattr(loader, name, None)


def _of_dataset(dataset: Any) -> Items:
    for name, value in vars(dataset).items():
        if not name.startswith("_"):
            yield f".{name}", value


def _of_module(module: Any) -> Items:
    for listed in (module.named_parameters, module.named_buffers):
        for name, tensor in listed():
            yield f".{name}", tensor


def _of_generator(generator: Any) -> Items:
    yield ".device", str(generator.device)
    yield ".initial_seed()", generator.initial_seed()


def _about_storage(storage: Any) -> str:
    return f"{storage.nbytes():,} bytes on {storage.device}, seen by no tensor that is alive"


def _listing(generator: GeneratorType[Any, Any, Any]) -> bool:
    """Return True if a generator lists a module's contents and has not begun."""
    frame = generator.gi_frame
    if frame is None or generator.__name__ not in LISTINGS:
        return False
    created = inspect.getgeneratorstate(generator) == inspect.GEN_CREATED
    return created and hasattr(frame.f_locals.get("self"), "named_parameters")


def _of_listing(generator: GeneratorType[Any, Any, Any]) -> Items:
    given = dict(inspect.getgeneratorlocals(generator))
    module = given.pop("self")
    for i, item in enumerate(getattr(module, generator.__name__)(**given)):
        named = isinstance(item, tuple) and len(item) == 2
        yield (f"{item[0]!r}", item[1]) if named else (f"{i}", item)


def _length(listed: Any) -> str:
    """Return the number of items or batches, if it is known."""
    try:
        return f"{len(listed):,}"
    except TypeError:  # of a dataset that has no length
        return ""


Row = tuple[Callable[[Any], str], Callable[[Any], Items]]
STATE: Row = lambda _: "", _of_state
OPTIMIZER: Row = lambda o: f"parameters with state: {len(o.state):,}", _of_optimizer
MODULE: Row = lambda module: module.extra_repr(), _of_module
STORAGE: Row = _about_storage, lambda _: ()
GENERATOR: Row = lambda _: "the state of random numbers", _of_generator
LOADER: Row = _length, _of_loader
DATASET: Row = _length, _of_dataset
#: mindtorch's, and PyTorch's.
ROWS: dict[tuple[str, str], Row] = {
    (State.__module__, State.__qualname__): STATE,
    ("mindtorch.optim.optimizer", "Optimizer"): OPTIMIZER, ("mindtorch.nn.module", "Module"): MODULE,
    ("mindtorch._storage.untyped", "StorageBase"): STORAGE, ("mindtorch", "Generator"): GENERATOR,
    ("mindtorch.utils.data.dataloader", "DataLoader"): LOADER, ("mindtorch.utils.data.dataset", "Dataset"): DATASET,
    ("torch.optim.optimizer", "Optimizer"): OPTIMIZER, ("torch.nn.modules.module", "Module"): MODULE,
    ("torch.storage", "UntypedStorage"): STORAGE, ("torch.storage", "TypedStorage"): STORAGE,
    ("torch._C", "Generator"): GENERATOR, ("torch.utils.data.dataloader", "DataLoader"): LOADER,
    ("torch.utils.data.dataset", "Dataset"): DATASET,
}
