"""Make the reduced copy of CANN's interface that the tests hold the binding table against.

``python -m tests.npu.cann.extract ABI PYACL DOCS...``: ABI is the interface of CANN 8.1's public headers (functions
with their C types, enums, constants), PYACL the call shapes of pyACL, both as JSON; DOCS are folders with the
operators' public documentation (checkouts of ops-math, ops-nn, ops-cv and ops-transformer), which says what the headers
do not: which tensors an operator reads and writes, and the codes of aclnnStatus. Writes abi.json and pyacl.json beside
this file: what the table needs, and no more.
"""
from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

from mindtorch._backends.npu import bindings, constants
from mindtorch._backends.npu.descriptors import HANDLE_FUNCTIONS
from mindtorch._backends.npu.simulator.executors import FUNCTIONS

HERE = Path(__file__).parent
#: Parameters that the documentation calls inputs although the operator's formula, or their names, say otherwise; and
#: those that it leaves out, or spells otherwise than the header does.
MISPRINTS = {("aclnnAmin", "out"): "out", ("aclnnTril", "out"): "out", ("aclnnTrace", "out"): "out",
             ("aclnnBatchNorm", "runningMean"): "ref", ("aclnnBatchNorm", "runningVar"): "ref",
             ("aclnnAvgPool3dBackward", "gradOuput"): "tensor",
             ("aclnnFlashAttentionScore", "paddingMaskOptional"): "tensor",
             ("aclnnFlashAttentionScore", "softmaxOutOut"): "out",
             ("aclnnFlashAttentionScoreGrad", "paddingMaskOptional"): "tensor",
             ("aclnnFlashAttentionScoreGrad", "softmaxInOptional"): "tensor"}
INPUT, OUTPUTS = "输入", ("输出", "出参")


def plain(cell: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", cell)).replace("`", "").strip()


def table_rows(text: str) -> list[list[str]]:
    """The cells of all tables, written in HTML or in Markdown, and of lists ``- name(type, direction): ...``."""
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.S) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.S)]
    rows += [line.strip().strip("|").split("|") for line in text.splitlines() if line.strip().startswith("|")]
    rows += [list(match) for match in re.findall(r"[-*] *`?(\w+)`? *[（(] *\w[\w \\*]*[，,、] *([^)）]*)[)）]", text)]
    return [[plain(cell) for cell in row] for row in rows if len(row) >= 2]


def direction(words: str) -> str | None:
    reads, writes = INPUT in words, any(word in words for word in OUTPUTS)
    return "ref" if reads and writes else "out" if writes else "tensor" if reads or "属性" in words else None


def documented_directions(folders: list[Path]) -> dict[str, dict[str, str]]:
    """What the documentation says of every parameter: read (tensor), written (out) or both (ref). The pages of released
    operators come last, and count.
    """
    found: dict[str, dict[str, str]] = {}
    pages = [page for folder in folders for page in sorted(folder.rglob("docs/aclnn*.md"))]
    for page in sorted(pages, key=lambda page: "experimental" not in page.parts):
        for section in re.split(r"\n##+ *", page.read_text()):
            if name := re.match(r"(aclnn\w+?)GetWorkspaceSize", section):
                cells = [(re.match(r"\w+", row[0]), direction(row[1])) for row in table_rows(section)]
                found[name[1]] = {word[0]: way for word, way in reversed(cells) if word and way}
    return found


def documented_codes(folders: list[Path]) -> dict[str, int]:
    """The codes of aclnnStatus, from the page about them."""
    page = next(path for folder in folders for path in folder.rglob("aclnn_return_code.md"))
    cells = re.findall(r"(ACLNN_[A-Z_]+)\W+(\d+)\W", plain(page.read_text()))
    return {name: int(code) for name, code in cells}


def reduced(abi: Any, folders: list[Path]) -> dict[str, Any]:
    ways, codes = documented_directions(folders), documented_codes(folders)
    wanted = [
        *HANDLE_FUNCTIONS,
        *FUNCTIONS,
        *(part for name in bindings.names() for part in (f"{name}GetWorkspaceSize", name)),
    ]
    used = {name for name in vars(constants) if name.startswith(("ACL_", "ACLNN_"))}
    pick = lambda table: {name: value for name, value in table.items() if name in used}  # noqa: E731
    return {
        "source": abi["source"],
        "typedefs": abi["typedefs"],
        "functions": {name: {key: abi["functions"][name][key] for key in ("returns", "args")} for name in wanted},
        "enums": {name: pick(values) for name, values in abi["enums"].items() if pick(values)},
        "constants": pick(abi["constants"]),
        "documented codes": pick(codes),
        "documented directions": {name: directions(name, abi, ways[name]) for name in bindings.names()},
    }


def directions(name: str, abi: Any, documented: dict[str, str]) -> dict[str, str]:
    """How an operator uses its tensors. Those that the header calls ...Ref are written, whatever is documented."""
    ways = {}
    for kind, parameter in abi["functions"][f"{name}GetWorkspaceSize"]["args"]:
        if kind in ("aclTensor*", "aclTensorList*"):
            way = MISPRINTS.get((name, parameter)) or documented[parameter]
            ways[parameter] = "ref" if way == "tensor" and parameter.endswith("Ref") else way
    return ways


def lines(value: Any, depth: int = 2) -> str:
    """JSON with a line an entry."""
    if not depth or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {lines(item, depth - 1)}" for key, item in value.items()) + "\n}"


def main(abi: str, pyacl: str, *folders: str) -> None:
    content = reduced(json.loads(Path(abi).read_text()), [Path(folder) for folder in folders])
    (HERE / "abi.json").write_text(lines(content) + "\n")
    (HERE / "pyacl.json").write_text(lines(json.loads(Path(pyacl).read_text())) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
