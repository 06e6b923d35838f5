"""The schemas: tables of rows ``schema  # description``, below headings of flags. Words in braces, as in
``_foreach_{abs exp}(Tensor[] self) -> Tensor[]  # ... `{}` ...``, stand for one row each.

The tables are in the operators' families (``_operators/<family>.py``). They are read as text, so importing mindtorch
does not execute those modules.

A heading gives flags to the operators below it. ``function``, ``method``: the packet is a function of torch, or a
method of tensors (PyTorch's ``variants``). ``in-place``, ``out``: it has a form that writes into ``self``, or into
``out=``; the forms are derived from the row. ``operator only``: none of these. The rarer flags concern arguments and
memory:

``wrapped numbers``: numbers may replace tensors, except the first (PyTorch's term). ``dtype of out``: the forms compute
in the dtype of the written tensor. ``exact dtype``: ``out`` must have the result's dtype; a castable dtype is not
enough. ``TypeError``: raise it instead of RuntimeError if ``out`` has a wrong dtype. ``no overlap``: ``out`` must not
share memory with the inputs, unless it is an operand of a pointwise operator. ``contiguous out``: an ``out`` that is
resized becomes contiguous, instead of taking the result's strides; the default for composites, unless they have
``strided out``. ``empty out resized``: an ``out`` without elements is resized even if its shape is right. ``explicit``:
``__torch_dispatch__`` receives the operator although it is a composite. ``inplace_view`` (PyTorch's tag): the operator
changes a tensor's layout in place, not its values.
"""
from __future__ import annotations

import re
import warnings

from .registry import OPERATORS, registry, rows_of

TABLE = re.compile(r'^schemas\("""\n(.*?)^"""\)', re.MULTILINE | re.DOTALL)


def check_table(table: str) -> None:
    """Warn about rows of a family's table that were edited after the operators were made from it."""
    for row, flags in rows_of(table):
        name = row[:row.index("(")]
        op = registry.operators.get(name)
        if op is None or op.flags != flags or row not in (op.text, f"{op.text}  # {op.sentence}"):
            warnings.warn(f"the schema of {name} was edited. Operators are made from their schemas when mindtorch is "
                          "imported: restart Python to use the new one.", stacklevel=3)


for _path in sorted(OPERATORS.glob("[!_]*.py")):
    for _table in TABLE.findall(_path.read_text("utf-8")):
        registry.define_table(_table, _path.stem)
__all__ = ["check_table", "registry"]
