"""The map of the house: what each room of the library is for, and in which order the rooms stand on each other.

A module imports from its own room and from those above it in ``HOUSE``, never the other way round.
``python -m tests.house`` writes the map into the README.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parents[1]
PACKAGE = "mindtorch"


class Room(NamedTuple):
    """Modules and packages at one height, by their names below ``mindtorch``, with their contents and usual changes."""

    parts: str
    holds: str
    changes: str


HOUSE = (
    Room("_base _dtype _device", "dtypes, devices, sizes, strides; errors and their facts; locks, interrupts; "
         "`Backend`, the interface of a kind of device; `loops`, which numba compiles",
         "a dtype, a rule of strides, a check that many operators make"),
    Room("_storage", "the memory under tensors", "a kind of storage"),
    Room("_dispatch", "operators and their schemas, dispatch keys, the dispatcher, binding of arguments, observers, "
         "pipeline mode", "a dispatch key: `keys.py`"),
    Room("_autograd", "graph, engine, grad modes, views in the graph", "a rule of the backward pass"),
    Room("_tensor", "the tensor, its values in Python, its printing", "an attribute of every tensor"),
    Room("_backends.random _backends.common", "generators that draw PyTorch's random numbers; promotion, copies, "
         "views, in-place and `out=` forms: the same on every device", "a view: `common/view/`"),
    Room("_backends.meta", "tensors without data", "a rule of the meta device"),
    Room("_backends.cpu", "kernels as functions of NumPy arrays, and the plans of their calls",
         "a kernel: `ops/<family>.py`"),
    Room("_backends.npu", "Ascend NPUs through CANN: C signatures, kernels (`ops`), a simulated device "
         "(`simulator`)", "a row in `signatures.txt`, a row in `ops/`"),
    Room("_backends.sparse", "tensors of values and their places: kernels, by dense operators on these",
         "a kernel: a row in `<family>.py`"),
    Room("_creation _backends.ascend", "tensors from sizes, numbers, sequences, arrays, random numbers, and from other "
         "tensors (`to`)", "a factory"),
    Room("_utils _methods", "functions and methods of users: `x[...]`, pickling, settings, and those made from schemas",
         "a function that is more than an operator"),
    Room("_transforms", "derivatives of functions in both modes; `vmap`, and in `batching` its engine",
         "a function of functions"),
    Room("_operators", "the definition of each operator: schema, outputs, composite, derivative, batching rule, "
         "autocast policy",
         "an operator: `<family>.py`"),
    Room("_wiring", "the order in which kernels are looked up, and the meaning of each dispatch key",
         "a new key, a new device"),
    Room("__config__ __future__ _C _custom_ops _ops _prims _prims_common _tensor_str accelerator amp backends cpu cuda "
         "_library fft functional futures hub library linalg monitor mps npu onnx overrides quasirandom random signal "
         "sparse special testing torch_version types version xpu",
         "PyTorch's smaller namespaces, each under PyTorch's name", "a function that is more than an operator"),
    Room("distributed._collectives", "processes that compute together: a thread for MPI, collectives as a table",
         "a collective: a row of `table.py`, and its function in `operations.py`"),
    Room("autograd", "`torch.autograd`", "`Function`, `gradcheck`, functional derivatives"),
    Room("nn", "modules, losses, initialisation", "a module: `modules/`; its function: `functional/`"),
    Room("optim distributions", "optimizers, schedules of learning rates; distributions, their "
         "divergences, transforms and constraints", "an optimizer: its rule, in a module of its name; a distribution"),
    Room("ao jit masked nested profiler multiprocessing quantization utils", "quantised layers; scripted programs, "
         "which run as Python; tensors with masks; tensors of parts of different sizes; operators counted and "
         "timed; tensors sent to other processes; datasets, samplers, the loader and its workers",
         "a column of a profile; a sampler, a dataset: `data/`"),
    Room("serialization storage", "`torch.save` and `torch.load`: archives, names, the unpickler that runs nothing",
         "a type that files may hold: `weights_only.py`"),
    Room("distributed", "`torch.distributed`: meshes, DTensors and their rules (`tensor`), what is spread over "
         "processes (`fsdp`, `tensor.parallel`, `optim`), and its checkpoints",
         "a rule of an operator: a row in `tensor/_ops`; a strategy: a module of its name"),
    Room("_guards fx.experimental.dims fx.experimental.sym_node fx.experimental.shape_env fx.experimental.size_guards "
         "fx.experimental.symbolic_shapes", "sizes that are symbols, what is known of them, and the guards on them",
         "a rule of what is known: `shape_env.py`"),
    Room("_functorch.config _subclasses", "tensors that stand for others: fake ones have a device and no memory, "
         "functional ones are never written", "what an operator does to them: `fake_impls.py`, `functional_tensor.py`"),
    Room("fx", "`torch.fx`: programs as graphs that are recorded, changed, printed as Python and run",
         "a pass: `passes/`"),
    Room("_decomp _functorch func", "operators written in others; `torch.func`, and how programs that write "
         "become ones that compute", "an operator's decomposition: a row in a module of its family"),
    Room("_higher_order_ops functorch", "operators that take functions: `cond`, `while_loop`, `scan`, `map`",
         "an operator: a module of its name"),
    Room("_compile _inductor compiler _dynamo _logging", "`torch.compile`: bytecode interpreted and calls recorded as "
         "graphs, guarded, optimised, and printed as the Python that runs", "an opcode: a method of "
         "`symbolic_convert.py`; an optimisation: `passes.py`; an operator in fused kernels: `kernels.py`"),
    Room("distributed.pipelining", "models as stages in several processes, through which microbatches go",
         "a schedule: `schedules.py`"),
    Room("export", "`torch.export`: programs as graphs ahead of time, and in files",
         "a kind of value in files: `archive.py`"),
    Room("introspect", "facts about tensors, graphs, storages, streams and errors, as dataclasses",
         "the content of a picture"),
    Room("viz widgets", "HTML, SVG and text of facts; pictures that move", "the look of a picture; a widget"),
    Room("course", "the course: predictions, labs and their checks, readers' parts in the running library, releases "
         "and grades", "a lesson: `lessons/<name>.toml` and `.py`, and its notebook"),
    Room("_run __main__", "the command line, `import torch` as mindtorch, processes that are launched together, "
         "IPython's extension: magics, formatters, tracebacks", "a command, a magic"),
)

#: Imports for type checkers that go up, or close a circle: a module names a type that stands on it. No others may.
FOR_TYPES = {
    # what a backend's methods take and return
    ("_base.backend", "_device"), ("_base.backend", "_dispatch.registry"), ("_base.backend", "_tensor"),
    # a sparse tensor consists of dense ones
    ("_tensor", "_tensor.sparse"),
    # a storage shows itself as a typed one, and as a tensor of its bytes
    ("_storage.untyped", "_storage.typed"), ("_storage.untyped", "_tensor"),
    # a table fills its registry when an operator is first asked for
    ("_dispatch.tables", "_dispatch.registry"),
    # what is pending knows the queue and the runtime that it is pending in
    ("_backends.npu.activities", "_backends.npu.queues"), ("_backends.npu.activities", "_backends.npu.runtime"),
    ("_backends.npu.queues", "_backends.npu.runtime"),
    # the simulated device calls the sanitizer, if it is on, which watches all parts of the device
    ("_backends.npu.simulator.watch", "_backends.npu.simulator.sanitizer"),
    ("_backends.npu.simulator.streams", "_backends.npu.simulator.devices"),
    # an expression knows what is known of its symbols, guards what they are made of
    ("fx.experimental.sym_node", "fx.experimental.shape_env"),
    ("fx.experimental.size_guards", "fx.experimental.shape_env"),
    # a node knows its graph, a graph the module that runs it
    ("fx.graph", "fx.graph_module"), ("fx.node", "fx.graph"),
    # a header says of which group a collective is
    ("distributed._collectives.headers", "distributed._collectives.groups"),
}


def modules(top: Path = TOP) -> dict[str, Path]:
    """Every module of the library by its name."""
    found = {}
    for path in sorted((top / PACKAGE).rglob("*.py")):
        parts = path.relative_to(top).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[tuple[str, int, bool]]:
    """Yield the modules of the library that a module imports, also in functions, with the line, and whether only a type
    checker does.
    """
    tree = ast.parse(path.read_text())
    for_types = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.If)
                 and ast.unparse(node.test).endswith("TYPE_CHECKING") and not isinstance(node.test, ast.UnaryOp)
                 for part in node.body for inner in ast.walk(part)}
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            targets = [f"{source}.{alias.name}" for alias in node.names]
        else:
            continue
        for target in targets:
            found = target if target in known else target.rpartition(".")[0]
            if found in known and found != name:
                yield found, node.lineno, id(node) in for_types


def graph(top: Path = TOP) -> dict[str, dict[str, int]]:
    """Return for each module the modules that it imports, with the line of the first import, without ``FOR_TYPES``."""
    known = modules(top)
    edges: dict[str, dict[str, int]] = {}
    for name, path in known.items():
        edges[name] = {}
        for target, line, for_types in imports(name, path, known):
            if not (for_types and pair(name, target) in FOR_TYPES):
                edges[name].setdefault(target, line)
    return edges


def pair(source: str, target: str) -> tuple[str, str]:
    """Return two modules as ``FOR_TYPES`` has them."""
    return source.removeprefix(f"{PACKAGE}."), target.removeprefix(f"{PACKAGE}.")


def height(module: str) -> int | None:
    """Return the room of a module, counted from the top of the map: the one with its longest name; None without one."""
    found = [(len(part), number) for number, room in enumerate(HOUSE) for part in room.parts.split()
             if f"{module}.".startswith(f"{PACKAGE}.{part}.")]
    return max(found)[1] if found else None


def upward(edges: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the imports that go to a room further down the map than the importing module's."""
    found = []
    for source, targets in edges.items():
        here = height(source)
        for target, line in targets.items():
            there = height(target)
            if here is not None and (target == PACKAGE or (there is not None and there > here)):
                found.append(f"{source}, line {line}, imports {target}")
    return found


def cycles(edges: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """Return the groups of nodes that import each other, directly or by way of others (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for target in edges.get(node, ()):
            if target not in number:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == number[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                groups.append(sorted(group))

    for node in edges:
        if node not in number:
            visit(node)
    return groups


def between_packages(edges: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Return the graph of the parts that ``HOUSE`` names; ``_dtype`` and ``_device`` count as ``_base``."""

    def part(module: str) -> str:
        names = [part for room in HOUSE for part in room.parts.split() if f"{module}.".startswith(f"{PACKAGE}.{part}.")]
        return "_base" if names[0] in ("_dtype", "_device") else names[0]

    merged: dict[str, dict[str, int]] = {}
    for source, targets in edges.items():
        for target, line in targets.items():
            if height(source) is not None and height(target) is not None and part(source) != part(target):
                merged.setdefault(part(source), {}).setdefault(part(target), line)
    return merged


def table() -> str:
    """Return the map as the README shows it."""
    rows = ["| room | what it holds | where a change goes |", "|---|---|---|"]
    for room in HOUSE:
        parts = " ".join(f"`{part.replace('.', '/')}`" for part in room.parts.split())
        rows.append(f"| {parts} | {room.holds} | {room.changes} |")
    return "\n".join(rows) + "\n"


BEGIN, END = "<!-- map: python -m tests.house -->\n", "<!-- end of map -->\n"


def readme(text: str) -> str:
    """Return the README's text with today's map."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    path = TOP / "README.md"
    path.write_text(readme(path.read_text()))
