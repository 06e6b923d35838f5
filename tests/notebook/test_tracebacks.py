"""Tracebacks with the extension loaded: the library's frames are one line, the program's are all there, ``%tb`` shows
everything, and what IPython does with other errors is left as it is.
"""
from __future__ import annotations

import re

import pytest
from IPython.core.ultratb import AutoFormattedTB, VerboseTB
from IPython.utils.capture import capture_output

FOLD = r" {4}\d+ frames? inside mindtorch, %tb shows (?:it|them)"
HINT = "%why explains this error"
FAILING = "x = torch.ones(3, 4)\nx + torch.ones(2)"
MESSAGE = "RuntimeError: The size of tensor a (4) must match the size of tensor b (2) at non-singleton dimension 1"


def shown(shell, code):
    """What is shown of a cell, without colours."""
    with capture_output() as captured:
        shell.run_cell(code)
    return re.sub(r"\x1b\[[\d;]*m", "", captured.stdout)


def skeleton(text):
    """The lines of a traceback that say where the error passed: arrows of the program's lines, and folds."""
    lines = [line for line in text.splitlines() if (line.startswith("-") and "> " in line) or re.fullmatch(FOLD, line)]
    return ["fold" if re.fullmatch(FOLD, line) else line.partition("> ")[2].partition(" ")[2].strip() for line in lines]


def test_an_error_is_the_programs_line_a_fold_the_message_and_the_way_to_its_explanation(shell):
    text = shown(shell, FAILING)
    assert skeleton(text) == ["x + torch.ones(2)", "fold"]
    assert text.rstrip().splitlines()[-2:] == [MESSAGE, HINT]
    assert "mindtorch/" not in text and len(text.splitlines()) < 12


@pytest.mark.parametrize("line", [
    "torch.ones(3, 4) @ torch.ones(3, 4)", "torch.ones(3).sum(7)", "torch.cat([torch.ones(2, 3), torch.ones(2, 2)], 0)",
    "torch.nn.functional.layer_norm(torch.ones(2, 3), (4,))", "torch.ones(3).add_(torch.ones(2))",
    "torch.nn.functional.embedding(torch.tensor([4]), torch.ones(3, 2))", "(w @ w).backward()", "w.where(w, 1)",
    "torch.nn.functional.gelu(w, approximate='no')", "torch.stft(torch.ones(3), 8)", "torch.ones(3).view(2)",
])
def test_functions_that_the_library_writes_are_folded_too(shell, line):
    shown(shell, "w = torch.ones(3, 3, requires_grad=True)")
    for _ in range(3):  # a plan is made at the second call
        assert skeleton(shown(shell, line)) == [line, "fold"]


def test_tb_shows_everything_as_without_the_extension(shell):
    shown(shell, FAILING)
    everything = shown(shell, "%tb")
    assert "dispatcher.py" in everything and not re.search(FOLD, everything) and HINT not in everything
    shell.run_line_magic("unload_ext", "mindtorch")
    assert shown(shell, "%tb") == everything
    shell.run_line_magic("load_ext", "mindtorch")
    assert "dispatcher.py" in shown(shell, "%tb Plain") and not re.search(FOLD, shown(shell, "%tb Verbose"))


def test_the_programs_frames_between_two_runs_of_the_librarys_stay(shell):
    shown(shell, "from mindtorch import nn\nclass Model(nn.Module):\n    def forward(self, x):\n"
                 "        return self.half(x)\n    def half(self, x):\n        return x.view(5)")
    assert skeleton(shown(shell, "nn.Sequential(Model())(torch.ones(3))")) == [
        "nn.Sequential(Model())(torch.ones(3))", "fold", "return self.half(x)", "return x.view(5)", "fold",
    ]


@pytest.mark.parametrize(("code", "expected"), [
    ("w.register_hook(lambda g: g.view(7))\n(w * 2).sum().backward()",
     ["(w * 2).sum().backward()", "fold", "w.register_hook(lambda g: g.view(7))", "fold"]),
    ("class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return [][0]\nF.apply(w)",
     ["F.apply(w)", "fold", "return [][0]"]),
    ("@torch.no_grad()\ndef f():\n    return w.view(7)\nf()", ["f()", "fold", "return w.view(7)", "fold"]),
    ("with torch.pipeline():\n    (w * 2).view(7)", ["(w * 2).view(7)", "fold"]),
    ("%%profile\nw.view(7)", ["get_ipython().run_cell_magic('profile', '', 'w.view(7)\\n')", "fold", "w.view(7)",
                              "fold"]),
], ids=["hook", "Function", "decorator", "pipeline", "magic"])
def test_functions_that_the_library_calls_are_the_programs(shell, code, expected):
    shown(shell, "w = torch.ones(3, requires_grad=True)")
    assert skeleton(shown(shell, code)) == expected


def test_what_the_library_calls_of_others_is_folded_with_it_and_what_calls_the_library_is_not(shell):
    shown(shell, "import copy, threading\nw = torch.ones(3, requires_grad=True)\nsgd = torch.optim.SGD([w])")
    code = "sgd.load_state_dict({'state': {}, 'param_groups': [threading.Lock()]})"
    assert skeleton(shown(shell, code)) == [code, "fold"]
    assert skeleton(shown(shell, "copy.deepcopy(w * 2)")) == ["copy.deepcopy(w * 2)", "y = copier(memo)", "fold"]


def test_each_error_of_a_chain_is_folded_and_the_way_to_the_explanation_stands_once(shell):
    text = shown(
        shell, "try:\n    torch.ones(3).view(2)\nexcept RuntimeError as e:\n    raise ValueError('mine') from e")
    assert skeleton(text) == ["torch.ones(3).view(2)", "fold", "raise ValueError('mine') from e"]
    assert "direct cause" in text and text.rstrip().endswith(f"ValueError: mine\n{HINT}")
    text = shown(shell, "try:\n    1 / 0\nexcept ZeroDivisionError:\n    torch.ones(3).view(2)")
    assert skeleton(text) == ["1 / 0", "torch.ones(3).view(2)", "fold"] and "During handling" in text
    text = shown(shell, "try:\n    torch.ones(3).view(2)\nexcept RuntimeError:\n    raise ValueError('mine') from None")
    assert skeleton(text) == ["raise ValueError('mine') from None"] and HINT not in text


@pytest.mark.parametrize("code", [
    "1 / 0", "def f():\n    return undefined\nf()", "x = = 1", "int('a')", "raise KeyboardInterrupt",
    "import json\njson.loads('{')", "%storage", "raise SystemExit", "eval('1 +')",
    "raise ExceptionGroup('several', [ValueError(1)])",
])
def test_errors_without_a_frame_of_the_library_are_as_without_the_extension(shell, code):
    with_extension = shown(shell, code)
    shell.run_line_magic("unload_ext", "mindtorch")
    without = shown(shell, code)
    assert with_extension == without


@pytest.mark.parametrize("magic", ["dispatch", "compile", "check"])
def test_of_a_cell_that_cannot_be_read_the_line_is_shown_and_not_how_a_magic_read_it(shell, magic):
    text = shown(shell, f"%%{magic}\ntorch.ones(2) +")
    assert "torch.ones(2) +" in text and "SyntaxError: invalid syntax" in text
    assert "site-packages" not in text and "mindtorch/" not in text


def test_an_error_that_nothing_explains_does_not_say_so(shell):
    shown(shell, "from mindtorch import nn\n"
                 "class Model(nn.Module):\n    def forward(self, x):\n        raise KeyError(3)")
    text = shown(shell, "Model()(1)")
    assert skeleton(text) == ["Model()(1)", "fold", "raise KeyError(3)"] and text.rstrip().endswith("KeyError: 3")


@pytest.mark.parametrize(("mode", "lines"), [("Plain", ["Traceback", "File|Cell", "x \\+", FOLD]), ("Minimal", [])])
def test_the_users_mode_is_kept(shell, mode, lines):
    shown(shell, f"x = torch.ones(3, 4)\n%xmode {mode}")
    text = [line for line in shown(shell, "x + torch.ones(2)").splitlines() if line]
    assert text[-2:] == [MESSAGE, HINT]
    assert [bool(re.search(*pair)) for pair in zip(lines, text[:-2], strict=True)] == [True] * len(lines)
    assert shell.InteractiveTB.mode == mode


def test_verbose_mode_shows_the_values_of_the_programs_names(shell):
    shown(shell, "%xmode Verbose")
    text = shown(shell, "def f(given):\n    return given + torch.ones(2)\nf(torch.ones(3, 4))")
    assert skeleton(text) == ["f(torch.ones(3, 4))", "return given + torch.ones(2)", "fold"]
    assert "given = tensor([[1., 1., 1., 1.]," in text


def test_a_doctest_sees_no_more_than_the_message(shell):
    shown(shell, "%xmode Doctest")
    assert shown(shell, FAILING).split("\n", 1)[1].strip() == f"...\n{MESSAGE}"


def test_colours_are_ipythons(shell):
    shell.run_line_magic("colors", "linux")
    with capture_output() as captured:
        shell.run_cell(FAILING)
    assert "\x1b[" in captured.stdout and re.search(FOLD, captured.stdout) and HINT in captured.stdout


def test_a_handler_of_the_users_is_asked_and_not_replaced(shell):
    def handler(self, etype, value, trace, tb_offset=None):
        print("mine:", etype.__name__)

    shell.set_custom_exc((RuntimeError,), handler)
    assert shown(shell, FAILING) == "mine: RuntimeError\n"
    shell.set_custom_exc((), None)
    assert re.search(FOLD, shown(shell, "x + torch.ones(2)"))


def test_a_printer_of_the_users_own_class_keeps_its_methods(bare):
    class Loud(AutoFormattedTB):
        def format_exception(self, etype, evalue):
            return [line.upper() for line in super().format_exception(etype, evalue)]

    bare.InteractiveTB = Loud(mode="Context", tb_offset=1)
    bare.run_line_magic("load_ext", "mindtorch")
    text = shown(bare, "import mindtorch as torch\ntorch.ones(3).view(2)")
    assert "SHAPE '[2]' IS INVALID" in text and skeleton(text)[-1] == "fold"
    bare.run_line_magic("unload_ext", "mindtorch")
    assert type(bare.InteractiveTB) is Loud
    bare.InteractiveTB = VerboseTB()  # not of a kind that can be folded
    bare.run_line_magic("load_ext", "mindtorch")
    bare.run_line_magic("unload_ext", "mindtorch")
    assert type(bare.InteractiveTB) is VerboseTB


def test_unloading_gives_the_tracebacks_back(bare):
    printer, attributes = type(bare.InteractiveTB), set(vars(bare.InteractiveTB))
    bare.run_line_magic("load_ext", "mindtorch")
    bare.run_line_magic("load_ext", "mindtorch")
    assert type(bare.InteractiveTB) is not printer
    assert re.search(FOLD, shown(bare, "import mindtorch as torch\ntorch.ones(3).view(2)"))
    bare.run_line_magic("unload_ext", "mindtorch")
    assert type(bare.InteractiveTB) is printer and set(vars(bare.InteractiveTB)) <= attributes | {"tb"}
    assert "dispatcher.py" in shown(bare, "torch.ones(3).view(2)")


def test_debug_and_why_still_see_the_whole_traceback(shell):
    import sys
    import traceback

    shown(shell, FAILING)
    assert len(traceback.extract_tb(sys.last_value.__traceback__)) > 4
    assert "x [3, 4] and torch.ones(2) [2] do not broadcast" in repr(shell.run_line_magic("why", ""))


def test_pytorchs_frames_are_folded_too(shell):
    pytest.importorskip("torch", reason="needs PyTorch")
    text = shown(shell, "import torch as pytorch\npytorch.nn.Linear(2, 3)(pytorch.ones(4))")
    assert re.search(r" {4}\d+ frames inside torch, %tb shows them", text) and "_call_impl" not in text
    assert text.rstrip().splitlines()[-1] == HINT and len(text.splitlines()) < 12
    assert "_call_impl" in shown(shell, "%tb")
