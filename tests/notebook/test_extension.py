"""``%load_ext mindtorch`` in an IPython shell: cards, magics, and nothing left after ``%unload_ext``."""
from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch import introspect
from mindtorch._run.ipython.magics import MindtorchMagics

MAGICS = {kind: list(MindtorchMagics.magics[kind]) for kind in ("line", "cell")}
RUN_CODE = ["dispatch", "profile", "pipeline", "timeline", "compile"]  #: as a cell, or a statement on their line


def test_a_tensor_shows_its_repr_and_a_card(shell):
    x = torch.arange(6.0).view(2, 3)
    data, _ = shell.display_formatter.format(x)
    assert data["text/plain"] == repr(x)
    assert "mt-card" in data["text/html"]
    parameter = torch.nn.Parameter(torch.ones(2))
    data, _ = shell.display_formatter.format(parameter)
    assert data["text/plain"] == repr(parameter) and "Parameter" in data["text/html"]


def test_the_card_of_a_pending_tensor_is_drawn_before_the_text_waits_for_its_values(shell):
    with torch.pipeline() as p:
        z = torch.ones(2) + 1
        data, _ = shell.display_formatter.format(z)
        assert "pending" in data["text/html"] and data["text/plain"] == "tensor([2., 2.])"
        assert len(p) == 0


def test_a_tensor_that_never_got_its_values_says_why(shell):
    with pytest.raises(RuntimeError), torch.pipeline():
        z = torch.ones(4)[torch.tensor([9])] + 1
    data, _ = shell.display_formatter.format(z)
    assert "⚠ invalid" in data["text/html"] and "index 9 is out of bounds" in data["text/html"]
    assert data["text/plain"].startswith("<no values: ") and "index 9 is out of bounds" in data["text/plain"]


def test_a_card_names_the_tensors_of_the_notebook(shell):
    shell.run_cell("base = torch.zeros(4); part = base[1:3]")
    data, _ = shell.display_formatter.format(shell.user_ns["part"])
    assert "view of base" in data["text/html"]


def test_the_magics_show_html_and_text(shell):
    shell.run_cell("w = torch.ones(3, requires_grad=True); loss = (w * 2).sum(); part = w[1:]")
    for line, said in [("tensors", "loss"), ("storage w", "part"), ("graph loss", "MulBackward0")]:
        picture = shell.run_line_magic(*line.partition(" ")[::2])
        assert said in picture._repr_html_() and said in repr(picture)
    with capture_output() as captured:
        shell.run_cell_magic("dispatch", "", "y = w + 1")
    assert "y" in shell.user_ns
    html = captured.outputs[0].data["text/html"]
    assert "add.Tensor" in html and "Autograd" in html


def test_dispatch_runs_a_cell_as_if_it_were_not_there(shell):
    with capture_output():
        result = shell.run_cell("%%dispatch\ny = torch.ones(2)\ny + 1")
        assert result.success and result.result.tolist() == [2.0, 2.0] and "y" in shell.user_ns
        assert shell.run_cell("%dispatch torch.ones(3)").result.tolist() == [1.0, 1.0, 1.0]
    with capture_output() as captured:
        failed = shell.run_cell("%%dispatch\ny + torch.ones(3)")
    assert isinstance(failed.error_in_exec, RuntimeError)
    assert "must match the size" in repr(captured.outputs[0].data["text/html"])


def test_the_operators_inside_composites_can_be_left_out(shell):
    shell.run_cell("a = torch.ones(2, 2)")
    for options, shown in [("", True), ("--top", False)]:
        with capture_output() as captured:
            shell.run_cell_magic("dispatch", options, "a @ a")
        assert ("<b" in (html := captured.outputs[0].data["text/html"]) and ">mm</b>" in html) is shown


def test_tensors_of_one_device_only(shell):
    shell.run_cell("a = torch.ones(2); m = torch.ones(2, device='meta')")
    assert "m " not in repr(shell.run_line_magic("tensors", "--device cpu"))
    assert "meta" in repr(shell.run_line_magic("tensors", "--device meta"))


def test_the_default_device_is_shown_and_set(shell):
    try:
        assert str(shell.run_line_magic("device", "")) == "cpu"
        assert str(shell.run_line_magic("device", "meta")) == "meta"
        shell.run_cell("made = torch.ones(2)")
        assert shell.user_ns["made"].is_meta
    finally:
        torch.set_default_device(None)
    with pytest.raises(UsageError, match=r"%device.*tpu"):
        shell.run_line_magic("device", "tpu")


@pytest.mark.parametrize(("line", "message"), [
    ("storage", "needs a tensor"), ("storage nothing_here", "cannot evaluate 'nothing_here': NameError"),
    ("storage torhc.ones(2)", "NameError: name 'torhc' is not defined; did you mean torch[?]$"),
    ("tensors cpu", "^%tensors does not take cpu: %tensors --help lists what it takes"),
    ("storage 3 +", "%storage: '3 [+]' is no expression: invalid syntax$"),
    ("tensors --device gpu", "^%tensors: Expected one of cpu, meta, npu"),
    ("tensors --device npu:1", "^%tensors: there is no tensor on npu:1, but on cpu$"),
    ("memory --device meta", "^%memory: there is no memory in use on meta, but on cpu"),
    ("device npu:99", "^%device: invalid device ordinal: npu:99, but there are"),
    ("device cuda", "^%device: Torch not compiled with CUDA enabled$"),
    ("ranks -1", "^%ranks: there cannot be -1 ranks$"), ("ranks many", "%ranks: invalid int value"),
    ("compact maybe", "^%compact: invalid choice: 'maybe'"),
    ("timeline --save=. x + 1", "^%%timeline: '.' is a folder, in which a file is to be named$"),
    ("check f(1, 2), 5", "^%check: cannot evaluate 'f[(]1, 2[)]': NameError"),
    ("check x, (", "^%check: '[(]' is no expr"),
    ("check 5", "^%check takes modules, losses and optimizers, not int"),
    ("storage 5", "'5' is of type int, not a tensor"), ("graph torch.ones(2)", "no autograd graph"),
])
def test_wrong_use_is_explained(shell, line, message):
    shell.run_cell("x = torch.ones(2)")
    with pytest.raises(UsageError, match=message):
        shell.run_line_magic(*line.partition(" ")[::2])
    assert str(torch.get_default_device()) == "cpu"


def test_a_graph_is_drawn_of_a_node_too_and_a_check_takes_calls_with_commas(shell):
    shell.run_cell("w = torch.ones(2, requires_grad=True)\nloss = w.exp().sum()")
    assert "ExpBackward0" in shell.run_line_magic("graph", "loss.grad_fn").text
    assert "SGD" in shell.run_line_magic("check", "torch.nn.Linear(2, 1), torch.optim.SGD([w], lr=0.1)").text


EVERY = sorted({*MAGICS["line"], *MAGICS["cell"]})


def test_these_are_the_magics():
    assert EVERY == [
        "check", "compact", "compile", "device", "dispatch", "glossary", "graph", "memory", "mindtorch", "model",
        "pipeline", "profile", "ranks", "save_picture", "storage", "tensors", "timeline", "why",
    ]
    assert sorted(MAGICS["cell"]) == sorted(["check", "model", *RUN_CODE])  # a line of these names what to look at


@pytest.mark.parametrize("name", EVERY)
def test_every_magic_has_help(shell, name):
    with capture_output() as captured:
        shell.run_line_magic(name, "--help")
    assert f"%{name}" in captured.stdout and len(captured.stdout.splitlines()) >= 3 and not captured.stderr


@pytest.mark.parametrize("name", RUN_CODE)
def test_help_is_given_above_a_cell_too_and_the_cell_is_not_run(shell, name):
    with capture_output() as captured:
        shell.run_cell_magic(name, "--help", "ran = True")
    assert f"%{name}" in captured.stdout and "ran" not in shell.user_ns


@pytest.mark.parametrize("name", EVERY)
def test_an_unknown_option_is_refused_with_a_message(shell, name):
    with pytest.raises(UsageError, match=f"^%{name} has no option --nonsense: %{name} --help lists"):
        if name in MAGICS["cell"]:
            shell.run_cell_magic(name, "--nonsense", "1")
        else:
            shell.run_line_magic(name, "--nonsense")


@pytest.mark.parametrize("name", RUN_CODE)
@pytest.mark.parametrize("line", ["", "  "])
def test_a_magic_that_runs_code_says_when_there_is_none(shell, name, line):
    with pytest.raises(UsageError, match=rf"%{name} needs a statement"):
        shell.run_line_magic(name, line)
    with pytest.raises(UsageError, match=rf"%{name} needs a statement"):
        shell.run_cell_magic(name, line, "\n")


@pytest.mark.parametrize("name", RUN_CODE)
def test_a_magic_that_runs_code_gives_the_value_and_shows_a_picture(shell, name):
    with capture_output() as captured:
        result = shell.run_cell(f"%%{name}\ny = torch.ones(2)\ny + 1")
        assert result.success and result.result.tolist() == [2.0, 2.0] and "y" in shell.user_ns
        assert shell.run_cell(f"%{name} torch.ones(3) * 2").result.tolist() == [2.0, 2.0, 2.0]
    data = captured.outputs[0].data
    assert f"mt-{name}" in data["text/html"] and data["text/plain"]


@pytest.mark.parametrize("name", RUN_CODE)
def test_a_cell_that_fails_is_shown_up_to_there(shell, name):
    with capture_output() as captured:
        failed = shell.run_cell(f"%%{name}\ny = torch.ones(2)\ny * 3\ny + torch.ones(5)")
    assert isinstance(failed.error_in_exec, RuntimeError)
    assert f"mt-{name}" in captured.outputs[0].data["text/html"]
    if name not in ("timeline", "compile"):  # a call that fails is not compiled
        assert "mul.Tensor" in captured.outputs[0].data["text/plain"]


def test_options_are_completed(shell):
    def offered(line):
        with provisionalcompleter():
            return [completion.text for completion in shell.Completer.completions(line, len(line))]

    assert offered("%tensors --d") == ["--device"]
    assert offered("%%dispatch --t") == ["--top"]
    assert offered("%storage -") == ["--help"]
    assert offered("%why --") == ["--help", "--no-watch", "--watch"]
    assert offered("%why --n") == ["--no-watch"]
    assert offered("%timeline --s") == ["--save"]
    for name in EVERY:
        assert "--help" in offered(f"%{name} --")
        assert name not in RUN_CODE or "--help" in offered(f"%%{name} --")
    assert "--device" not in offered("x = --d")
    shell.run_cell("loss = torch.ones(2, requires_grad=True).sum(); lost = 3; model = torch.nn.Linear(2, 1)")
    assert "loss" in offered("%graph lo") and "loss" in offered("%storage lo")
    assert "model.weight" in offered("%storage model.w")


# -- %why ----------------------------------------------------------------------------------------------------------


def why(shell, line=""):
    """What %why shows, and what it prints."""
    with capture_output() as captured:
        picture = shell.run_line_magic("why", line)
    return picture, captured.stdout


def failing(shell, code):
    with capture_output():
        assert not shell.run_cell(code).success


def test_why_explains_the_last_error_with_the_names_of_the_notebook(shell):
    failing(shell, "scores = torch.ones(3, 4)\nscores + torch.ones(2)")
    picture, _ = why(shell)
    assert "scores [3, 4] and torch.ones(2) [2] do not broadcast" in repr(picture)
    assert "mt-why" in picture._repr_html_() and "scores + torch.ones(2)" in repr(picture)
    failing(shell, "scores.view(5)")
    assert "12 elements cannot be arranged as [5]" in repr(why(shell)[0])


def test_why_explains_an_error_that_was_caught(shell):
    shell.run_cell("try:\n    torch.ones(3).item()\nexcept RuntimeError as e:\n    error = e")
    assert "more than one number" in repr(why(shell, "error")[0])
    for line, message in [("nothing_here", "cannot evaluate"), ("torch", "not an exception"),
                          ("--watch --no-watch", "either")]:
        with pytest.raises(UsageError, match=message):
            shell.run_line_magic("why", line)


def test_why_says_when_there_was_no_error_and_leaves_wrong_uses_of_magics_alone(shell, monkeypatch):
    monkeypatch.setattr("sys.last_value", None, raising=False)
    assert why(shell) == (None, "there was no error yet\n")
    failing(shell, "%storage")
    picture, said = why(shell)
    assert picture is None and "in the use of a magic: %storage needs a tensor" in said


def test_why_finds_the_write_in_another_cell(shell):
    shell.run_cell("a = torch.ones(3, requires_grad=True)\nb = a.exp()")
    shell.run_cell("c = b[1:]\nc += 1")
    failing(shell, "b.sum().backward()")
    assert "c += 1" in repr(why(shell)[0]) and "%why --watch" in repr(why(shell)[0])


def test_writes_are_watched_until_told_otherwise_or_unloaded(shell):
    assert "noting" in why(shell, "--watch")[1] and introspect.watching_writes()
    shell.run_cell("a = torch.ones(3, requires_grad=True)\nb = a.exp()\nb.mul_(2)")
    failing(shell, "b.sum().backward()")
    said = repr(why(shell)[0])
    assert "line 3: mul_.Tensor → version 1" in said and "%why --watch" not in said
    assert "no longer" in why(shell, "--no-watch")[1] and not introspect.watching_writes()
    why(shell, "--watch")
    shell.run_line_magic("unload_ext", "mindtorch")
    assert not introspect.watching_writes()


def test_why_keeps_nothing_that_the_traceback_does_not(shell):
    import gc
    import sys
    import weakref

    failing(shell, "x = torch.ones(4)\nx.view(3)")
    picture, _ = why(shell)
    storage = weakref.ref(shell.user_ns["x"].untyped_storage())
    shell.run_cell("del x")
    for name in ("last_type", "last_value", "last_traceback"):
        setattr(sys, name, None)
    shell.InteractiveTB.tb = None
    gc.collect()
    assert storage() is None and picture is not None


def test_unloading_leaves_nothing(bare):
    def registries():
        return (
            {kind: set(table) for kind, table in bare.magics_manager.magics.items()},
            {name: set(f.type_printers) for name, f in bare.display_formatter.formatters.items()},
            set(bare.display_formatter.mimebundle_formatter.type_printers),
            {name: set(f.deferred_printers) for name, f in bare.display_formatter.formatters.items()},
            set(bare.magics_manager.registry), len(bare.configurables),
            {event: list(callbacks) for event, callbacks in bare.events.callbacks.items()},
            len(bare.Completer.custom_matchers) if hasattr(bare, "Completer") else 0,
        )

    bare.run_line_magic("unload_ext", "mindtorch")  # so that IPython has set up %load_ext itself
    before = registries()
    bare.run_line_magic("load_ext", "mindtorch")
    assert registries() != before
    bare.run_line_magic("unload_ext", "mindtorch")
    assert registries() == before
    bare.run_line_magic("load_ext", "mindtorch")
    assert "tensors" in bare.magics_manager.magics["line"]
    bare.run_line_magic("unload_ext", "mindtorch")
    assert registries() == before


def test_importing_the_library_does_not_import_ipython(tmp_path):
    import subprocess
    import sys

    heavy = {"IPython", "ipywidgets", "matplotlib", "scipy", "ml_dtypes"}
    code = f"import mindtorch, sys; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path.parent)


def test_help_may_stand_alone_in_a_cell(shell, capsys):
    for magic in ("timeline", "profile", "dispatch", "check"):
        for option in ("--help", "-h\n\n"):
            assert shell.run_cell(f"%%{magic} {option}").success
            assert capsys.readouterr().out.startswith(f"%{magic} [")


@pytest.mark.parametrize(("cell", "said"), [
    ("%grpah x", "did you mean %graph? %mindtorch lists the magics\n"),
    ("%%timelin\nx", "did you mean %%timeline? %mindtorch lists the magics\n"), ("%xyzzy", ""), ("%storage", ""),
    ("1 / 0", ""),
])
def test_a_mistyped_magic_is_corrected(shell, capsys, cell, said):
    shell.run_cell(cell)
    out = capsys.readouterr().out
    assert out.endswith(said) and ("did you mean" in out) is bool(said)


def test_loading_says_what_to_try_and_the_magics_are_listed_by_question(bare, capsys):
    bare.run_line_magic("load_ext", "mindtorch")
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "%mindtorch lists" in said
    listed = repr(bare.run_line_magic("mindtorch", ""))
    of_ours = bare.magics_manager.registry["MindtorchMagics"].magics
    for kind, sign in (("line", "%"), ("cell", "%%")):
        for name in of_ours[kind]:
            assert f" {sign}{name} " in listed or name == "mindtorch" or (sign == "%" and name in of_ours["cell"])
    bare.run_line_magic("unload_ext", "mindtorch")
    assert shell_transforms(bare) == []


def shell_transforms(shell):
    return [transform for transform in shell.input_transformers_cleanup if transform.__module__.startswith("mindtorch")]
