"""``%%compile`` of cells that fail, or hold nothing to compile: what failed, where, and what there was before."""
from __future__ import annotations

import re

import pytest
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch._compile.compiled_graph import CompiledGraph

FAILING = {
    "y = 1 / 0\nx + 1": ("ZeroDivisionError: division by zero at cell 0, line 2", "before its last expression"),
    "x +": ("SyntaxError: invalid syntax at cell 0, line 2", "before its last expression"),
    "(x * 2).exp() @ (x + 1)": (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) at cell 0, line 2",
        "The call failed after this had been compiled:", "3 operators captured", "exp = mul.exp()  float32[2, 3]"),
    "def f():\n    y = x * 2\n    return (y + y.sum().item()) @ y\nf()": (
        "at cell 0, line 4", "3 operators captured in 2 graphs, 2 graph breaks", "add = l_stack0_ + 12.0"),
    "x.foo": ("has no attribute 'foo' at cell 0, line 2", "no operator had been captured"),
    "(x + 1).foo": ("at cell 0, line 2", "Until then 1 operator had been captured:", "%add"),
    "(x - 1)[torch.tensor([5])]": ("IndexError: index 5 is out of bounds", "sub = g_x_ - 1"),
}


def compiled(shell, cell):
    with capture_output() as captured:
        failed = shell.run_cell(f"%%compile\n{cell}").error_in_exec
    return failed, str(captured.outputs[0].data["text/plain"]) if captured.outputs else captured.stdout


@pytest.mark.parametrize("cell", FAILING)
def test_a_cell_that_fails_says_so_and_what_was_captured_before(shell, cell):
    shell.run_cell("x = torch.ones(2, 3)")
    failed, text = compiled(shell, cell)
    assert failed is not None
    for said in FAILING[cell]:
        assert said in text


def test_a_coloured_traceback_shows_the_line_that_failed(shell):
    shell.run_line_magic("colors", "linux")
    with capture_output() as captured:
        shell.run_cell("x = torch.ones(2, 3)")
        shell.run_cell("%%compile\nx.foo")
    text = re.sub(r"\x1b\[[0-9;]*m", "", captured.stdout)
    assert "----> 2 x.foo" in text and "<lambda>" not in text


def test_what_was_compiled_before_the_failure_is_shown():
    def failing(x):
        y = x * 2
        raise ValueError(y.sum().item())

    with pytest.raises(ValueError), introspect.watch_compile() as facts:
        introspect.compile_facts(failing, [((torch.ones(2, 3),), {})], facts=facts)
    text = viz.compile_text(facts)
    assert facts.failure == "ValueError: 12.0" and facts.file == __file__
    assert "had been compiled" in text and "2 operators captured" in text and "numpy.multiply" in text


def test_what_is_compiled_already_is_timed_as_it_is_written(monkeypatch):
    inner, x, ran = torch.compile(lambda x: (x * 2 + 1).relu()), torch.ones(1000), []
    run = CompiledGraph.__call__

    def noted(self, *given):
        ran.append(self)
        return run(self, *given)

    monkeypatch.setattr(CompiledGraph, "__call__", noted)
    inner(x)
    inner(x)
    of_inner = ran.pop()
    ran.clear()

    def outer():
        return inner(x)

    facts = introspect.compile_facts(outer)
    assert facts.written is not None and facts.compiled is not None
    assert ran and of_inner not in ran
    inner(x)
    assert ran.pop() is of_inner


def test_what_is_no_expression_and_what_is_not_compiled_are_told_apart(shell):
    shell.run_cell("x = torch.ones(2, 3)")
    said = compiled(shell, "y = x + 1")[1]
    assert "this cell ends with a statement. Write the expression alone in the last line" in said
    text = compiled(shell, "with torch.autocast('cpu'):\n    pass\nx + 1")[1]
    assert "1 operator captured" in text
    shell.run_cell("torch.compiler.set_stance('force_eager')")
    try:
        assert "ran as it is written" in compiled(shell, "x + 1")[1]
    finally:
        shell.run_cell("torch.compiler.set_stance('default')")


def test_a_break_stands_at_its_line_and_a_call_without_a_graph_says_why(shell):
    shell.run_cell("x = torch.ones(2, 3); m = torch.ones(2, device='meta')")
    shell.run_cell("def f(a):\n    print('in')\n    return a + 1")
    text = compiled(shell, "f(x)")[1]
    assert re.search(r"print\('in'\)\n +✂ graph break: call of builtins.print, which no graph has", text)
    assert "Guards: when these hold again, the program runs" in text and "L['a'].shape == [2, 3]" in text
    assert "no program: m is on meta" in compiled(shell, "m + 1")[1]


def test_a_tuple_of_calls_shows_why_the_function_is_compiled_again(shell):
    shell.run_cell("x = torch.ones(2, 3)\ndef f(a, n=1):\n    return a * n")
    text = compiled(shell, "f(x), f(x, n=2), f(x)")[1]
    assert "2 operators captured in 2 graphs, 1 recompile" in text
    assert "↻ recompile: the guard of program 1 fails: L['n'] == 1" in text


def test_calls_of_the_librarys_functions_and_of_calls_are_captured_as_a_whole(shell):
    shell.run_cell("x = torch.ones(2, 3)\ndef f(a):\n    return a * 2")
    assert "2 operators captured in 1 graph" in compiled(shell, "f(torch.relu(x))")[1]
    assert "2 operators captured in 1 graph" in compiled(shell, "torch.exp(x), torch.exp(x)")[1]


def test_a_call_of_a_compiled_function_is_compiled_as_it_runs_without_its_arguments(shell):
    shell.run_cell("x = torch.ones(5, 3)\n@torch.compile(dynamic=True)\ndef f(a):\n    return a * a.shape[0]")
    text = compiled(shell, "f(torch.relu(x))")[1]
    assert "1 operator captured in 1 graph" in text and re.search(r"mul = l_a_ \* s\d+  float32\[s\d+, s\d+\]", text)
