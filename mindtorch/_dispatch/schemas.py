"""The schemas: tables of rows ``schema  # what it computes``, below headings of words. Words in braces, as in
``_foreach_{abs exp}(Tensor[] self) -> Tensor[]  # ... `{}` ...``, stand for a row each.

The tables stand in the operators' families (``_operators/<family>.py``). They are read from those files, so that
importing mindtorch executes none of them.

A heading says what there is of the operators below it. ``function``, ``method``: one of torch, and of tensors (as in
PyTorch's ``variants``). ``in-place``, ``out``: a form that writes into ``self``, or into ``out=``; the forms are made
from the one row. ``operator only``: none of these. Of the rarer words, these are about arguments and memory:

``wrapped numbers``: numbers may stand for tensors, but for the first (PyTorch's term). ``dtype of out``: the forms
compute in the dtype of what they write to. ``exact dtype``: ``out`` must have the result's dtype, not only one that it
can be cast to; where it cannot, ``TypeError`` is raised in place of RuntimeError. ``no overlap``: ``out`` must share no
memory with what is read, unless it is an operand of a pointwise operator. ``contiguous out``: an ``out`` of another
shape becomes contiguous, and does not take the result's strides; of composite operators it becomes so, unless there is
``strided out``. ``empty out resized``: this also happens to an ``out`` without elements that has the right shape.
``explicit``: to ``__torch_dispatch__`` the operator is one of its own though it is written in others. ``inplace_view``
(PyTorch's tag): the operator changes a tensor's layout in place, not its values.
"""
from __future__ import annotations

import re
import warnings

from .dispatcher import registry
from .registry import OPERATORS, rows_of

TABLE = re.compile(r'^schemas\("""\n(.*?)^"""\)', re.MULTILINE | re.DOTALL)


def check_table(table: str) -> None:
    """Warn of rows of a family's table that were edited after the operators were made from it."""
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
