"""``%%compile`` of cells that fail, or hold nothing to compile: what failed, where, and what there was before."""
from __future__ import annotations

import re

import pytest
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch._compile.function import CompiledFunction

FAILING = {
    "y = 1 / 0\nx + 1": ("ZeroDivisionError: division by zero at cell 0, line 2", "before its last expression"),
    "x +": ("SyntaxError: invalid syntax at cell 0, line 2", "before its last expression"),
    "(x * 2).exp() @ (x + 1)": (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) at cell 0, line 2",
        "Until then 3 operators had been recorded:", "mul: float32[2, 3] = aten::mul.Tensor(x, 2)", "aten::exp(mul)"),
    "def f():\n    y = x * 2\n    return (y + y.sum().item()) @ y\nf()": (
        "at cell 0, line 4", "3 operators had been recorded", "aten::add.Tensor(mul, 12.0)"),
    "x.foo": ("has no attribute 'foo' at cell 0, line 2", "no operator had been recorded"),
    "(x - 1)[torch.tensor([5])]": ("IndexError: index 5 is out of bounds", "aten::sub.Tensor(x, 1)"),
}


def compiled(shell, cell):
    with capture_output() as captured:
        failed = shell.run_cell(f"%%compile\n{cell}").error_in_exec
    return failed, repr(captured.outputs[0].data["text/plain"] if captured.outputs else captured.stdout)


@pytest.mark.parametrize("cell", FAILING)
def test_a_cell_that_fails_says_so_and_what_was_recorded_before(shell, cell):
    shell.run_cell("x = torch.ones(2, 3)")
    failed, text = compiled(shell, cell)
    assert failed is not None
    for said in FAILING[cell]:
        assert said in text.replace("\\'", "'")
    assert "Guards" not in text and "program runs" not in text


def test_a_coloured_traceback_shows_the_line_that_failed(shell):
    shell.run_line_magic("colors", "linux")
    with capture_output() as captured:
        shell.run_cell("x = torch.ones(2, 3)")
        shell.run_cell("%%compile\nx.item()")
    text = re.sub(r"\x1b\[[0-9;]*m", "", captured.stdout)
    assert "----> 2 x.item()" in text and "<lambda>" not in text


def test_what_was_compiled_before_the_failure_is_shown():
    x = torch.ones(2, 3)

    def again():
        if torch.compiler.is_compiling():
            return x * 2
        raise ValueError("no more")

    with pytest.raises(ValueError), introspect.watch_compile() as facts:
        introspect.compile_facts(again, facts=facts)
    text = viz.compile_text(facts)
    assert facts.failure == "ValueError: no more" and facts.file == __file__
    assert "had been compiled" in text and "1 operator recorded" in text and "numpy.multiply" in text


def test_what_is_compiled_already_is_timed_as_it_is_written(monkeypatch):
    inner, x, ran = torch.compile(lambda x: (x * 2 + 1).relu()), torch.ones(1000), []
    run = CompiledFunction._run

    def noted(self, *given):
        ran.append(self.function)
        return run(self, *given)

    monkeypatch.setattr(CompiledFunction, "_run", noted)
    inner(x)
    inner(x)
    of_inner = ran.pop()

    def outer():
        return inner(x)

    facts = introspect.compile_facts(outer)
    assert facts.written is not None and facts.compiled is not None
    assert outer in ran and of_inner not in ran
    inner(x)
    assert ran.pop() is of_inner


def test_what_is_no_expression_and_what_is_not_compiled_are_told_apart(shell):
    shell.run_cell("x = torch.ones(2, 3)")
    said = compiled(shell, "y = x + 1")[1]
    assert "this cell ends with a statement. Write the expression alone in the last line" in said
    text = compiled(shell, "with torch.autocast('cpu'):\n    pass\nx + 1")[1]
    assert "1 operator recorded" in text
    shell.run_cell("torch.compiler.set_stance('force_eager')")
    try:
        assert "ran as it is written" in compiled(shell, "x + 1")[1]
    finally:
        shell.run_cell("torch.compiler.set_stance('default')")


def test_guards_of_a_cell_are_told_in_words(shell):
    shell.run_cell("x = torch.ones(2, 3)\ndef f(a):\n    return a + 1 if a.sum() > 0 else a")
    text = compiled(shell, "x * 2")[1]
    assert "the function is unchanged" in text and "the globals that the cell uses are unchanged" in text
    assert "Guards: when this holds again, the program runs" in text and "<" not in text.partition("Guards")[2]
    text = compiled(shell, "f(x)")[1]
    assert "There is no program" in text and "when this holds again, it runs as it is written" in text
    assert "the globals that f uses are unchanged" in text


def test_a_graph_break_names_what_breaks_the_graph_and_its_line_of_the_cell(shell):
    shell.run_cell("numbers = iter([1.0, 2.0]); x = torch.ones(2, 3); m = torch.ones(2, device='meta')")
    text = compiled(shell, "\nx * next(numbers)")[1]
    assert re.search(r"graph break: numbers is a builtins\.\w+, which may change unseen at cell \d+, line 3", text)
    assert re.search(r"run as it is written at cell \d+, line 2", compiled(shell, "m + 1")[1])


def test_what_is_not_faster_is_said_to_take_longer(shell):
    shell.run_cell("x = torch.ones(2, 3)")
    text = compiled(shell, "x")[1]  # no operator, so that the program is all that the call takes
    assert "times as long" in text and "of the time" not in text and "0 kernels, 0 B of buffers" in text


def test_a_call_that_works_after_one_that_failed_forgets_it():
    x, sizes = torch.ones(2, 3), iter([3, 2])
    compiled = CompiledFunction(lambda: (x + 1) @ torch.ones(next(sizes) + 1, 2))
    with pytest.raises(RuntimeError):
        compiled()
    assert len(compiled.unfinished) == 2
    compiled()
    assert compiled.unfinished == []
