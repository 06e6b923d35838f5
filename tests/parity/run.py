"""Print how the operators agree with PyTorch's: `python -m tests.parity.run [entry ...]`.

One row an entry of PyTorch's operator database: per dtype the samples that agree of those there are, then the
checks (gradients, meta device, error inputs, and the method, in-place, operator and `out=` variants) and the
first difference. Exits with 1 if an entry of the committed list (`agreeing.txt`) differs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import types
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.parity import agreeing
from tests.parity.compare import Entry, Result, database
from tests.parity.exclusions import EXCLUDED
from tests.support import torch

DTYPES = ("float32", "int64", "float64", "float16", "bfloat16", "complex64", "bool")
VARIANTS = ("method", "in-place", "operator", "out=")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.table:
        print(table())
        return 0
    torch.set_num_threads(1)
    lib = importlib.import_module(options.lib)
    dtypes = [getattr(torch, name) for name in options.dtype]
    results = [row for op in chosen(options) for row in compare(op, lib, dtypes, options)]
    summarise(results, options.dtype)
    if options.update:
        agreeing.update(results)
    listed = agreeing.read()
    broken = [r for r in results if r.status != "agrees" and r.dtype in listed.get(r.name, ())]
    for result in broken:
        print(f"BROKEN: {result.name} in {result.dtype} is in the committed list, and {result.status}")
    return 1 if broken else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.parity.run", description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", metavar="entry", help="names of entries, as in the table")
    parser.add_argument("-k", metavar="substring", help="only entries whose name contains it")
    parser.add_argument("--dtype", nargs="+", default=["float32", "int64"], help="default: float32 int64")
    parser.add_argument("--family", nargs="+", default=[], choices=FAMILIES, metavar="family",
                        help=f"only these families: {', '.join(FAMILIES)}")
    parser.add_argument("--agreeing", action="store_true", help="only entries of the committed list")
    parser.add_argument("--differing", action="store_true", help="print only the entries that differ")
    parser.add_argument("--no-missing", action="store_true", help="do not print the entries that are missing")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every difference, and soft ones")
    parser.add_argument("--table", action="store_true", help="print how many entries the committed list has by dtype")
    parser.add_argument("--update", action="store_true", help="rewrite the committed list from this run")
    parser.add_argument("--lib", default="mindtorch", help="the library under test (default: mindtorch)")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.entries) - database().keys()):
        parser.error(f"the database has no entry {', '.join(unknown)}")
    return options


def family(op: Any) -> str:
    """Return the family that an entry is listed under: its namespace, else the kind of its OpInfo."""
    namespace = op.name.partition(".")[0]
    return namespace if namespace in NAMESPACES else CLASS_FAMILIES.get(type(op).__name__, "other")


NAMESPACES = ("fft", "linalg", "masked", "nn", "signal", "sparse", "special")
CLASS_FAMILIES = {"UnaryUfuncInfo": "unary", "BinaryUfuncInfo": "binary", "ReductionOpInfo": "reduction",
                  "ShapeFuncInfo": "shape"}
FAMILIES = (*NAMESPACES, *CLASS_FAMILIES.values(), "other")


def chosen(options: argparse.Namespace) -> Iterator[Any]:
    listed = set().union(*map(agreeing.names, options.dtype))
    for name, op in database().items():
        if ((not options.entries or name in options.entries)
                and (options.k is None or options.k in name)
                and (not options.family or family(op) in options.family)
                and (not options.agreeing or name in listed)):
            yield op


def compare(op: Any, lib: types.ModuleType, dtypes: list[torch.dtype],
            options: argparse.Namespace) -> list[Result]:
    """Compare one entry in all dtypes, and print its row."""
    entry = Entry(op, lib)
    began = time.perf_counter()
    results = [entry.compare(dtype) for dtype in dtypes]
    if (not options.differing or any(r.status == "differs" for r in results)) and not (
            options.no_missing and any(r.status == "missing" for r in results)):
        print(row(results, time.perf_counter() - began), flush=True)
        if options.verbose:
            print("".join(details(results)), end="")
    return results


def row(results: list[Result], seconds: float) -> str:
    """`add   float32 7/7   int64 7/7   grad 14/14   meta 14/14   errors 2/2   in-place 14/14   0.1 s`"""
    cells = [f"{results[0].name:<42}"]
    for result in results:
        cell = result.status
        if cell in ("agrees", "differs"):
            cell = f"{result.checks['function'] - result.failed['function']}/{result.samples}"
        cells.append(f"{result.dtype} {cell:<10}")
    for check in ("grad", "meta", *VARIANTS, "errors"):
        once = results[:1] if check == "errors" else results
        total = sum(count for r in once for name, count in r.checks.items() if name.startswith(check))
        failed = sum(count for r in once for name, count in r.failed.items() if name.startswith(check))
        if total:
            cells.append(f"{check} {total - failed}/{total}")
    cells.append(f"{seconds:.1f} s")
    if reason := next((r.reason for r in results if r.reason), ""):
        cells.append(reason)
    if skipped := {reason: count for r in results for reason, count in r.skipped.items()}:
        cells.append("left out: " + ", ".join(f"{count} x {reason}" for reason, count in skipped.items()))
    if first := next((f for r in results for f in r.found), None):
        cells.append(f"DIFFERS: {told(first)}")
    return "  ".join(cells)


def told(found: tuple[str, int, Any]) -> str:
    check, sample, difference = found
    return f"{check} {sample}: {difference}"


def details(results: list[Result]) -> Iterator[str]:
    """Every difference of a check once, with the number of samples that show it."""
    for result in results:
        for found, note in ((result.found, ""), (result.soft, "(soft) ")):
            count = Counter((check, str(difference)) for check, _, difference in found)
            for (check, difference), times in count.items():
                yield f"    {result.dtype} {note}{check} x{times}: {difference}\n"


def in_scope(dtype: str) -> list[str]:
    """List the entries that PyTorch supports in a dtype, except for those without anything to compare."""
    return [name for name, op in database().items()
            if getattr(torch, dtype) in op.supported_dtypes("cpu") and name not in EXCLUDED]


def table() -> str:
    """By dtype: the entries that PyTorch supports, those in scope, and those of the committed list."""
    lines = ["dtype      PyTorch supports  in scope  agree  of those in scope"]
    for dtype in DTYPES:
        supported = sum(getattr(torch, dtype) in op.supported_dtypes("cpu") for op in database().values())
        scope, listed = len(in_scope(dtype)), len(agreeing.names(dtype))
        lines.append(f"{dtype:<10} {supported:>16}  {scope:>8}  {listed:>5}  {listed / scope:>16.1%}")
    return "\n".join(lines)


def summarise(results: list[Result], dtypes: list[str]) -> None:
    for dtype in dtypes:
        column = [r for r in results if r.dtype == dtype and r.status != "not applicable"]
        count = {status: sum(r.status == status for r in column)
                 for status in ("agrees", "differs", "missing", "excluded")}
        print(f"{dtype}: {count['agrees']} entries agree of {len(column)} "
              f"({count['differs']} differ, {count['missing']} missing, {count['excluded']} excluded)")


if __name__ == "__main__":
    sys.exit(main())
