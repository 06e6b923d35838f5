"""The binding table, ``signatures.txt``: what every ACLNN operator takes. A row is read when it is first used.

A row is the operator's name, the dtypes that an Ascend 910B takes, and the parameters of its first phase in the
header's order and with the header's names, without the last two (workspaceSize and executor), which all have::

    aclnnGather  bool|real        tensor self, int64 dim, tensor:int32|int64 index, out out
    aclnnStd     reduced|float32  tensor self, ints? dim, int64 correction, bool keepdim, out out

``?`` after the kind: the pointer may be null. After ``:`` stand the dtypes of a tensor that differ from the row's, in
the words of ``_dtype.dtypes``. A row may go on in lines that begin with a space.
"""
from __future__ import annotations

import ctypes
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

#: C type of a parameter's kind. Tensors are read (``tensor``), written (``out``) or both (``ref``).
KINDS = {"tensor": "aclTensor*", "out": "aclTensor*", "ref": "aclTensor*", "tensors": "aclTensorList*",
         "outs": "aclTensorList*", "scalar": "aclScalar*", "scalars": "aclScalarList*", "ints": "aclIntArray*",
         "bools": "aclBoolArray*", "floats": "aclFloatArray*", "bool": "bool", "int": "int", "int8": "int8_t",
         "int32": "int32_t", "int64": "int64_t", "uint64": "uint64_t", "float": "float", "double": "double",
         "dtype": "aclDataType", "chars": "char*"}
#: How the C types are passed. Pointers are addresses.
C_TYPES: dict[str, Any] = {"void*": ctypes.c_void_p, "char*": ctypes.c_char_p, "bool": ctypes.c_bool,
                           "float": ctypes.c_float, "double": ctypes.c_double, "int8_t": ctypes.c_int8,
                           "int": ctypes.c_int, "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64,
                           "uint64_t": ctypes.c_uint64, "aclDataType": ctypes.c_int32, "aclFormat": ctypes.c_int32,
                           "aclnnStatus": ctypes.c_int32}
#: The second phase of every operator.
PHASE_TWO = ["void*", "uint64_t", "aclOpExecutor*", "aclrtStream"]
READ = frozenset({"tensor", "tensors", "ref"})
WRITTEN = frozenset({"out", "outs", "ref"})


class Parameter(NamedTuple):
    """A parameter of an operator's first phase."""

    kind: str
    name: str
    optional: bool
    #: Words for the dtypes that a tensor may have.
    takes: str


class Binding:
    """A row that has been read.

    ``takes`` are words for the operator's dtypes, ``parameters`` those of its first phase but the last two,
    ``phase_one`` the C types of all of them. ``reads`` and ``writes`` are positions of tensors and lists of tensors.
    ``leaves_descriptors`` says that the first phase is known to change none.
    """

    def __init__(self, name: str, takes: str, parameters: tuple[Parameter, ...]):
        self.name, self.takes, self.parameters = name, takes, parameters
        self.phase_one = [KINDS[parameter.kind] for parameter in parameters] + ["uint64_t*", "aclOpExecutor**"]
        self.leaves_descriptors = name in READ_ONLY
        self.reads = tuple(i for i, parameter in enumerate(parameters) if parameter.kind in READ)
        self.writes = tuple(i for i, parameter in enumerate(parameters) if parameter.kind in WRITTEN)

    def __repr__(self) -> str:
        return f"<Binding {self.name}>"


#: The table's families: their headings, and their rows by name.
_FAMILIES = {heading: {row.split(None, 1)[0]: row for row in rows.replace("\n ", " ").split("\n") if row}
             for heading, rows in re.findall(r"^\[(.*)\].*\n((?:(?!\[).*\n)*)", Path(__file__).with_name(
                 "signatures.txt").read_text("utf-8"), re.MULTILINE)}
_LINES: dict[str, str] = {name: row for rows in _FAMILIES.values() for name, row in rows.items()}
#: Operators whose first phase leaves the caller's descriptors as they are, in the sources of ops-math and ops-nn.
#: aclnnScatterAdd, in contrast, changes the sizes of an index, and aclnnMm formats.
READ_ONLY = frozenset(name for heading, rows in _FAMILIES.items() if heading.endswith("descriptors stay as they are")
                      for name in rows) - {
    "aclnnBatchNormBackward", "aclnnBinaryCrossEntropy", "aclnnDropoutGenMask", "aclnnLogicalXor", "aclnnProd",
    "aclnnProdDim", "aclnnSWhere", "aclnnLogit", "aclnnLogitGrad", "aclnnRmsNorm", "aclnnRmsNormGrad",
}


def names() -> list[str]:
    """Return the names of the operators, in the table's order."""
    return list(_LINES)


@cache
def binding(name: str) -> Binding:
    """Return the row of an operator. Raises KeyError if the table has no such operator."""
    if name not in _LINES:
        raise KeyError(f"the NPU backend has no binding for {name!r}")
    return read(_LINES[name])


def read(line: str) -> Binding:
    """Parse the text of a row."""
    name, takes, text = line.split(None, 2)
    parameters = []
    for part in text.split(","):
        form, parameter = part.split()
        kind, _, own = form.partition(":")
        parameters.append(Parameter(kind.rstrip("?"), parameter, kind.endswith("?"), own or takes))
    return Binding(name, takes, tuple(parameters))
