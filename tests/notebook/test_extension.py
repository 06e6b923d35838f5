"""``%load_ext mindtorch`` in an IPython shell: cards, magics, and nothing left after ``%unload_ext``."""
from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch._ipython.magics import MindtorchMagics

MAGICS = {kind: list(names) for kind, names in MindtorchMagics.magics.items()}


@pytest.fixture
def bare():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.display_formatter.active_types = ["text/plain", "text/html"]
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def shell(bare):
    bare.run_line_magic("load_ext", "mindtorch")
    bare.run_cell("import mindtorch as torch")
    return bare


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
    ("storage 5", "'5' is of type int, not a tensor"), ("graph torch.ones(2)", "no autograd graph"),
])
def test_wrong_use_is_explained(shell, line, message):
    with pytest.raises(UsageError, match=message):
        shell.run_line_magic(*line.partition(" ")[::2])


@pytest.mark.parametrize("name", sorted(MAGICS["line"] + MAGICS["cell"]))
def test_every_magic_has_help(shell, name):
    with capture_output() as captured:
        shell.run_line_magic(name, "--help")
    assert f"%{name}" in captured.stdout and len(captured.stdout.splitlines()) > 3 and not captured.stderr


def test_options_are_completed(shell):
    def offered(line):
        with provisionalcompleter():
            return [completion.text for completion in shell.Completer.completions(line, len(line))]

    assert offered("%tensors --d") == ["--device"]
    assert offered("%%dispatch --t") == ["--top"]
    assert offered("%storage -") == ["--help"]
    assert "--device" not in offered("x = --d")


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
        )  # fmt: skip

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
