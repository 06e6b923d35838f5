"""``torch.add?`` and ``torch.add??`` in IPython: what an operator is, and where it is written."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

import mindtorch as torch
from mindtorch.introspect import operator_facts


def shown(ip, expression, detail=0):
    text = ip.object_inspect_mime(expression, detail_level=detail)["text/plain"]
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.fixture
def ip(shell):
    shell.user_ns["torch"] = torch
    shell.user_ns["x"] = torch.ones(2, 3)
    return shell


def test_a_question_mark_shows_signature_meaning_shapes_dtypes_errors_and_name(ip):
    text = shown(ip, "torch.add")
    assert "torch.add(input, other, *, alpha=1, out=None) -> Tensor" in text
    for title in ("Meaning", "Shapes", "Dtypes", "Errors", "PyTorch"):
        assert f"{title}:" in text
    assert "RuntimeError: if the shapes do not broadcast." in text


def test_two_question_marks_show_kernel_and_operator_with_file_and_line(ip):
    text = shown(ip, "torch.add", 1)
    for title, row in (("CPU kernel", '"add.Tensor": '), ("Operator", 'operator("add.Tensor"')):
        path, line, source = re.search(rf"{title}:\s*\n# (.+):(\d+)\n(.*)", text).groups()
        assert source.startswith(row)
        assert row in Path(path).read_text(encoding="utf-8").splitlines()[int(line) - 1]


def test_a_method_of_a_tensor_is_shown_as_its_function_is(ip):
    assert "torch.Tensor.sum(dim=None, keepdim=False, *, dtype=None) -> Tensor" in shown(ip, "x.sum")


def test_html_is_escaped_and_has_the_same_fields(ip):
    html = ip.object_inspect_mime("torch.add", detail_level=1)["text/html"]
    assert "-&gt; Tensor" in html and "<h1>Operator</h1>" in html


def test_other_objects_are_shown_as_before_and_unloading_takes_the_hook_away(ip):
    assert "Docstring:" in shown(ip, "len")
    ip.run_line_magic("unload_ext", "mindtorch")
    assert not ip.inspector.mime_hooks
    assert "Docstring:" in shown(ip, "torch.add")


def test_dtypes_and_errors_are_those_of_the_operator():
    facts = operator_facts(torch.relu)
    assert facts.dtypes == "integers, floating point give the same dtype"
    assert "RuntimeError: for tensors of bool." in facts.errors
    assert "int64" in operator_facts(torch.sum).dtypes
    assert operator_facts(torch.matmul).shapes == "For example, [2, 3] and [3, 4] give [2, 4]."
    assert operator_facts(torch.cumsum).shapes == "For example, [2, 3] with dim=1 gives [2, 3]."


def test_every_operator_has_facts():
    named = [getattr(torch, name) for name in torch.__all__]
    functions = [value for value in named if callable(value) and hasattr(value, "packet")]
    assert len(functions) > 500
    for function in functions:
        facts = operator_facts(function)
        assert facts.sentence and facts.errors and facts.name, facts
    assert operator_facts(len) is None
