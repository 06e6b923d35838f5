"""Facts about functions and methods: the operators behind them, their arguments, and where they are written."""
from __future__ import annotations

import ast
import inspect
import linecache
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .._backends.common.pointwise import Pointwise
from .._backends.cpu.ops import CPU_KERNELS
from .._creation import empty
from .._dispatch.keys import BACKEND_OF_DEVICE
from .._dispatch.registry import Operator
from .._dispatch.schema import REQUIRED
from .._dispatch.schemas import registry
from .._dispatch.signature import meaning, torch_name
from .._dispatch.tables import ALSO_IN
from .._dtype import BOOL, COMPLEX, DTYPES, FLOATING, INTEGER, DType


@dataclass(frozen=True)
class Written:
    """A piece of source: what it is, its file, its first line, its text."""

    what: str
    path: str
    line: int
    source: str


@dataclass(frozen=True)
class OperatorFacts:
    """Facts about the function of a packet."""

    name: str  #: PyTorch's
    signature: str
    sentence: str
    schemas: list[str]
    shapes: str
    dtypes: str
    errors: list[str]
    written: list[Written]


def operator_facts(function: Callable[..., Any]) -> OperatorFacts | None:
    """Return the facts of a function or method made of schemas, or None for other objects."""
    packet = getattr(function, "packet", None)
    if not isinstance(packet, str) or packet not in registry.packets:
        return None
    ops = [op for op in registry.packets[packet] if not op.is_out]
    shown = inspect.signature(function)
    is_method = "self" in shown.parameters or inspect.ismethod(function)
    name = torch_name(packet, ops, is_method)
    returned = function.__annotations__["return"]
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in shown.parameters.values()]
    text = f"{name}{shown.replace(parameters=plain, return_annotation=inspect.Signature.empty)} -> {returned}"
    results = trial(ops)
    written = [piece for op in ops for piece in pieces(op)]
    return OperatorFacts(name, text, meaning(ops, is_method), [op.text for op in ops], shapes(ops), dtypes(results),
                         errors(ops, results), list(dict.fromkeys(written)))


# -- what it takes -----------------------------------------------------------------------------------------------------

#: Dtypes of arguments that are not what an operator computes with.
OTHERS = {"condition": DTYPES["bool"], "mask": DTYPES["bool"], "index": DTYPES["int64"], "indices": DTYPES["int64"]}


def trial(ops: list[Operator]) -> dict[DType, Any]:
    """Run the first overload that takes tensors only, for each dtype: return its results' dtypes, or the error.

    Without a dtype that it takes, the tensors do not fit for another reason, and nothing is known.
    """
    for op in ops:
        required = [p for p in op.schema.parameters if p.default is REQUIRED]
        if required and all(p.is_tensor and not p.is_list and not p.optional for p in required):
            found = {dtype: run(op, [(2, 2)] * len(required), dtype) for dtype in DTYPES.values()}
            if all(isinstance(result, Exception) for result in found.values()):
                return {}
            return {dtype: result if isinstance(result, Exception) else tuple(one.dtype for one in results_of(result))
                    for dtype, result in found.items()}
    return {}


def run(op: Operator, sizes: Sequence[tuple[int, ...]], dtype: DType) -> Any:
    """Run an operator on meta tensors of these sizes, and return its result or the error."""
    args: list[Any] = []
    left = iter(sizes)
    for parameter in op.schema.parameters:
        if parameter.default is not REQUIRED:
            break
        if parameter.is_tensor and not parameter.is_list:
            args.append(empty(next(left), dtype=OTHERS.get(parameter.name, dtype), device="meta"))
        else:
            args.append((1,) if parameter.is_list else 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return op.call(*args)
    except Exception as error:  # which is the fact
        return error


def results_of(result: Any) -> list[Any]:
    return [one for one in (result if isinstance(result, (tuple, list)) else [result]) if hasattr(one, "dtype")]


GROUPS = {"bool": BOOL, "integers": INTEGER, "floating point": FLOATING, "complex": COMPLEX}


def grouped(dtypes: Iterable[DType]) -> str:
    """Return dtypes by the names of their kinds where all of a kind are meant."""
    names, left = [], list(dtypes)
    for name, category in GROUPS.items():
        kind = [dtype for dtype in DTYPES.values() if dtype.category == category]
        found = [dtype for dtype in kind if dtype in left]
        names += [name] if found == kind else [dtype.name for dtype in found]
    return ", ".join(names)


def dtypes(results: dict[DType, Any]) -> str:
    """Describe which dtypes are taken, and the results' dtypes."""
    by_outcome: dict[Any, list[DType]] = {}
    for dtype, result in results.items():
        if not isinstance(result, Exception):
            outcome = ", ".join("the same dtype" if r is dtype else repr(r) for r in result) or "no tensor"
            by_outcome.setdefault(outcome, []).append(dtype)
    return "; ".join(f"{grouped(taken)} give {outcome}" for outcome, taken in by_outcome.items())


def shapes(ops: list[Operator]) -> str:
    """Describe the shape of the result, in words or by examples from the meta kernel."""
    meta = registry.meta_rows.get(ops[0].name)
    if isinstance(meta, Pointwise):
        return ("The operands are broadcast to one shape, which the result has." if meta.count > 1
                else "The result has the shape of the tensor.")
    found = []
    for op in ops:
        count = sum(p.is_tensor and not p.is_list and p.default is REQUIRED for p in op.schema.parameters)
        for sizes in ([(2, 3)] * count, [(2, 3), (3, 4)], [(3, 3)] * count):
            results = results_of(run(op, sizes, DTYPES["float32"])) if len(sizes) == count else []
            if results:
                given, made = (" and ".join(map(str, map(list, some))) for some in (sizes, [r.shape for r in results]))
                with_dim = any(p.name == "dim" and p.default is REQUIRED for p in op.schema.parameters)
                found.append(f"{given}{' with dim=1' if with_dim else ''} give{'s' * (count == 1)} {made}")
                break
    aliases = "The result is a view, which shares the tensor's storage. " if "-> Tensor(a)" in ops[0].text else ""
    return aliases + (f"For example, {'; '.join(dict.fromkeys(found))}." if found else "")


def errors(ops: list[Operator], results: dict[DType, Any]) -> list[str]:
    """List the exceptions: refused dtypes, those in docstrings, and those of all operators."""
    found = ["TypeError: if the arguments fit no schema."]
    refused: dict[str, list[DType]] = {}
    for dtype, error in results.items():
        if isinstance(error, Exception):
            refused.setdefault(type(error).__name__, []).append(dtype)
    found += [f"{kind}: for tensors of {grouped(those)}." for kind, those in refused.items()]
    if any(isinstance(meta := registry.meta_rows.get(op.name), Pointwise) and meta.count > 1 for op in ops):
        found.append("RuntimeError: if the shapes do not broadcast.")
    for op in ops:
        for function in explained(op):
            _, _, raises = (inspect.getdoc(function) or "").partition("Raises:\n")
            found += re.findall(r"\w+: .*(?:\n {8,}.*)*", raises)
    return list(dict.fromkeys(re.sub(r"\s+", " ", error) for error in found))


def explained(op: Operator) -> list[Any]:
    """Return the functions whose docstrings are about an operator."""
    kernel = op.kernel(BACKEND_OF_DEVICE["cpu"])
    functions = [registry.meta_rows.get(op.name), None if kernel is None else inspect.unwrap(kernel.origin)]
    return [function for function in functions if inspect.isfunction(function)]


# -- where it is written -----------------------------------------------------------------------------------------------


def pieces(op: Operator) -> list[Written]:
    """Return the rows and functions of an operator: its schema and its row, its CPU kernel, and what runs."""
    base = op.functional or op
    found = []
    for what, package in (("Operator", registry.meta_rows.package), ("CPU kernel", CPU_KERNELS.package)):
        row = find_row(package, base)
        if row is not None:
            found.append(Written(what, *row))
    kernel = op.kernel(BACKEND_OF_DEVICE["cpu"])
    origin = None if kernel is None else inspect.unwrap(kernel.origin)
    if inspect.isfunction(origin) and origin.__name__ != "<lambda>":
        lines, first = inspect.getsourcelines(origin)
        found.append(Written("Its function", origin.__code__.co_filename, first, "".join(lines)))
    return found


def find_row(package: str, op: Operator) -> tuple[str, int, str] | None:
    """Return the file, the line and the source of an operator's row."""
    for module in (op.family, *ALSO_IN.get(op.family, ())):
        spec = find_spec(f"{package}.{module}") if module else None
        if spec is None or spec.origin is None:
            continue
        place = rows_of(spec.origin, Path(spec.origin).stat().st_mtime_ns).get(op.name)
        if place is not None:
            lines = linecache.getlines(spec.origin)[place[0] - 1:place[1]]
            return spec.origin, place[0], inspect.cleandoc("\n" + "".join(lines))
    return None


@lru_cache
def rows_of(path: str, changed: int) -> dict[str, tuple[int, int]]:
    """Return the first and the last line of each row of a file: entries of dictionaries, and calls of ``operator``."""
    found: dict[Any, tuple[int, int]] = {}
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant):
                    found[key.value] = (key.lineno, value.end_lineno or key.lineno)
        elif (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "operator"
              and isinstance(node.args[0], ast.Constant)):
            for name in str(node.args[0].value).split():
                found.setdefault(name, (node.lineno, node.end_lineno or node.lineno))
    linecache.checkcache(path)
    return found
