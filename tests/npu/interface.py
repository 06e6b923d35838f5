"""What CANN's interface says, and how something of ours differs from it: functions that return lists of differences."""
from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from mindtorch._backends.npu.bindings import WRITTEN, Binding

HERE = Path(__file__).parent / "cann"
ABI: dict[str, Any] = json.loads((HERE / "abi.json").read_text())
PYACL: dict[str, Any] = json.loads((HERE / "pyacl.json").read_text())
TENSORS = ("aclTensor*", "aclTensorList*")
PHASE_TWO = ["void*", "uint64_t", "aclOpExecutor*", "aclrtStream"]
#: Operators that overwrite a tensor, which need not hold anything before, although the documentation calls it "in/out".
OVERWRITING = {
    "aclnnInplace" + what
    for what in ("Copy", "Zero", "One", "FillScalar", "FillTensor", "Normal", "Uniform", "Random", "Bernoulli",
                 "BernoulliTensor")
}


def differences(row: Binding, abi: Any = ABI) -> list[str]:
    """The differences between a row of the binding table and the operator's two functions."""
    if f"{row.name}GetWorkspaceSize" not in abi["functions"]:
        return [f"{row.name} is not in the interface"]
    phase_one = abi["functions"][f"{row.name}GetWorkspaceSize"]
    expected = phase_one["args"]
    last = [name for _, name in expected[-2:]]  # every operator's, which rows do not name
    names = [parameter.name for parameter in row.parameters] + last
    given = [[kind, name] for kind, name in zip(row.phase_one, names, strict=True)]
    found = function_differences(row.name, "aclnnStatus", PHASE_TWO, abi)
    if phase_one["returns"] != "aclnnStatus":
        found.append(f"{row.name}GetWorkspaceSize returns {phase_one['returns']}")
    if len(given) != len(expected):
        found.append(f"{row.name} takes {len(expected)} arguments, not {len(given)}")
    found += [f"{row.name}: argument {i} is {' '.join(want)}, not {' '.join(have)}"
              for i, (have, want) in enumerate(zip(given, expected, strict=False)) if have != want]
    return found + direction_differences(row, abi)


def direction_differences(row: Binding, abi: Any) -> list[str]:
    """The differences in how tensors are used: read, written, or both."""
    documented, found = abi["documented directions"][row.name], []
    for parameter in row.parameters:
        kind, way = parameter.kind.removesuffix("s"), documented.get(parameter.name)
        if (kind in ("tensor", "out", "ref")) != (way is not None):
            found.append(f"{row.name}: {parameter.name} is a {kind}, documented as {way}")
        elif way is not None and kind != way and not (row.name in OVERWRITING and (kind, way) == ("out", "ref")):
            found.append(f"{row.name}: {parameter.name} is documented as {way}, not {kind}")
    if not any(parameter.kind in WRITTEN for parameter in row.parameters):
        found.append(f"{row.name} writes nothing")
    return found


def function_differences(name: str, returns: str, takes: list[str], abi: Any = ABI) -> list[str]:
    """The differences between a declared C function and the interface's."""
    function = abi["functions"].get(name)
    if function is None:
        return [f"{name} is not in the interface"]
    expected = [kind for kind, _ in function["args"]]
    found = [] if returns == function["returns"] else [f"{name} returns {function['returns']}, not {returns}"]
    return found if takes == expected else [*found, f"{name} takes {expected}, not {takes}"]


def constant_differences(constants: dict[str, int], abi: Any = ABI) -> list[str]:
    """The differences between constants and those of the headers, or of the documentation for aclnnStatus."""
    known = abi["constants"] | abi["documented codes"]
    for values in abi["enums"].values():
        known = known | values
    return [f"{name} is {known.get(name, 'unknown')}, not {value}"
            for name, value in constants.items() if known.get(name) != value]


# -- calls of pyACL ----------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call in a source: pyACL's name of the function, how many arguments it gets, how many results are taken apart
    (None: what it returns is used as it is), and whether a single item of the results is taken.
    """

    name: str
    arguments: int
    results: int | None
    picked: int | None
    line: int


def calls(source: str) -> list[Call]:
    """All calls of functions of ``acl`` and ``acl.rt`` in a source; ``rt`` is short for ``acl.rt``."""
    tree, found = ast.parse(source), []
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := pyacl_name(ast.unparse(node.func))):
            parent: ast.AST = parents[node]
            while isinstance(parent, ast.IfExp):
                parent = parents[parent]
            target = parent.targets[0] if isinstance(parent, ast.Assign) else None
            results = len(target.elts) if isinstance(target, ast.Tuple) else None
            index = parent.slice if isinstance(parent, ast.Subscript) else None
            picked = index.value if isinstance(index, ast.Constant) and isinstance(index.value, int) else None
            found.append(Call(name, len(node.args) + len(node.keywords), results, picked, node.lineno))
    return found


def pyacl_name(function: str) -> str | None:
    """``acl.rt.malloc`` of ``runtime.acl.rt.malloc``; None for what is not pyACL's."""
    match = re.fullmatch(r"(?:.*\.)?(acl\.(?:rt\.)?\w+)", function)
    if match is None:
        match = re.fullmatch(r"(?:module\(\)\.)?(rt\.\w+)", function)
        return match and f"acl.{match[1]}"
    return match[1]


def call_differences(call: Call, pyacl: Any = PYACL) -> list[str]:
    """The differences between a call and pyACL's shapes."""
    shape = pyacl["functions"].get(call.name)
    if shape is None:
        return [f"line {call.line}: pyACL has no {call.name}"]
    required, _, optional = shape["args"].partition("|")
    least = len([argument for argument in required.split(",") if argument.strip()])
    most = least + len([argument for argument in optional.split(",") if argument.strip()])
    returned = len(shape["returns"].split(","))
    found = []
    if not least <= call.arguments <= most:
        found.append(f"line {call.line}: {call.name}({shape['args']}) gets {call.arguments} arguments")
    if call.picked is not None:
        if not call.picked < returned or returned == 1:
            found.append(f"line {call.line}: {call.name} returns {shape['returns']}, which has no {call.picked}")
    elif (call.results or 1) != returned:
        found.append(f"line {call.line}: {call.name} returns {shape['returns']}, taken as {call.results or 1}")
    return found
