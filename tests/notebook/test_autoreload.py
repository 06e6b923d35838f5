"""``%autoreload 2``: rows of kernels, meta kernels, derivatives and composites that were edited are used at the next
call.

A shell in a process of its own imports a copy of the package, whose files are edited while it runs.
"""
from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch

START = """%load_ext mindtorch
%load_ext autoreload
%autoreload 2
import mindtorch as torch
x, y = torch.tensor([3.]), torch.tensor([4.])
def gradient():
    w = torch.tensor([3.], requires_grad=True)
    torch.hypot(w, y).backward()
    return w.grad.item()
def forms():
    return [torch.hypot(x, y).item(), x.hypot(y).item(), x.clone().hypot_(y).item(),
            torch.hypot(x.expand(2, 1), y).tolist(), torch.hypot(x, y, out=torch.empty(1)).item()]
"""
CPU, SHAPE, POINTWISE = "_backends/cpu/ops/pointwise.py", "_operators/shape.py", "_operators/pointwise.py"
#: What is edited: an expression and its value, a file, what is replaced there (a pattern) by what, and the value then.
EDITS = {
    "a kernel": ("forms()", [5.0, 5.0, 5.0, [[5.0], [5.0]], 5.0],
                 CPU, '"hypot": np.hypot', '"hypot": np.maximum', [4.0, 4.0, 4.0, [[4.0], [4.0]], 4.0]),
    "a kernel's function": ("torch.round(x, decimals=1).item()", 3.0,
                            CPU, r"(?s)(def round_to\(.*?return )", r"\g<1>10 + ", 13.0),
    "an NPU's kernel": ("torch.ceil(torch.tensor([0.5], device='npu')).item()", 1.0,
                        "_backends/npu/ops/pointwise.py", r"\bceil Ceil\b", "ceil Floor", 0.0),
    "a derivative": ("gradient()", 0.75, POINTWISE,
                     r'(?s)(operator\("hypot",[^\n]*\s*self=lambda [\w, ]*: )', r"\g<1>2 * ", 1.5),
    "a meta kernel": ("str(torch.hypot(x, y).dtype)", "torch.float32", POINTWISE,
                      r'("hypot", Pointwise\()"default"', r'\g<1>"bool"', "torch.bool"),
    "a composite": ("torch.column_stack([x, y]).tolist()", [[3.0, 4.0]],
                    SHAPE, r"(?s)(def column_stack\(.*?return )", r"\g<1>2 * ", [[6.0, 8.0]]),
    "a composite made by a function": ("torch.hstack([x, y]).tolist()", [3.0, 4.0],
                                       SHAPE, r"(?s)(def stack_along\(.*?return )", r"\g<1>3 * ", [9.0, 12.0]),
    "a schema": ("torch.addcmul(x, x, x).item()", 12.0, POINTWISE,
                 r"( addcmul\(.*? value=)1", r"\g<1>2", 12.0),
}
SCRIPT = """
import json, os, re, sys, time
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
root = Path(sys.argv[1])
sys.path.insert(0, str(root))
shell = InteractiveShell.instance()
shell.displayhook.write_output_prompt = shell.displayhook.write_format_data = lambda *args: None
def run(code):
    result = shell.run_cell(code)
    result.raise_error()
    return result.result
run(sys.argv[2])
import mindtorch
assert mindtorch.__file__.startswith(str(root))
clock, found = time.time(), {}
for name, (code, _, file, old, new, _) in json.loads(sys.argv[3]).items():
    before = run(code)
    path = root / "mindtorch" / file
    edited, count = re.subn(old, new, path.read_text(), count=1)
    assert count, name
    path.write_text(edited)
    clock += 2
    os.utime(path, (clock, clock))
    found[name] = before, run(code)
print("\\n" + json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    root = tmp_path_factory.mktemp("copy")
    package = Path(mindtorch.__file__).parent
    shutil.copytree(package, root / "mindtorch", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-B", "-c", SCRIPT, str(root), START, json.dumps(EDITS)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, env={"IPYTHONDIR": str(root)})
    assert not done.returncode and "failed" not in done.stderr, done.stdout + done.stderr
    assert done.stderr.count("the schema of addcmul was edited") == 1 and "restart Python" in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("what", [what for what in EDITS if what != "a schema"])
def test_an_edit_is_used_at_the_next_call(found, what):
    _, before, *_, after = EDITS[what]
    assert found[what] == [before, after]


def test_an_edited_schema_is_said_to_wait_for_the_next_start(found):
    assert found["a schema"] == [12.0, 12.0]
