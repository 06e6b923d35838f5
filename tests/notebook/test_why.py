"""``%why``: common errors are explained with their causes, fixes, and pictures of the tensors that were involved."""
from __future__ import annotations

import gc
import inspect
import sys
import traceback
import weakref
from functools import partial
from types import FunctionType

import pytest
from hypothesis import given, settings

import mindtorch as torch
from mindtorch import introspect, nn, viz
from mindtorch._dispatch.sites import PACKAGE
from mindtorch.introspect import writes
from mindtorch.introspect.why import (
    EXPLANATIONS, Bars, Call, Cell, Fix, Group, Groups, Involved, Places, Ruler, ShapeRow, Shapes, Step, Steps,
)
from mindtorch.introspect.why.explanation import CLASH
from tests.garbage import every_object

from .errors import ERRORS, caught, explain
from .forum import ASKED
from .mistakes import MISTAKES
from .pages import PAGES
from .test_harmless import ALLOWED, HOSTILE
from .test_mistakes import run
from .test_pictures import Checker

WHY = PACKAGE + "introspect"
CASES = [pytest.param(*case, id=f"{i} {case[0]}") for i, case in enumerate(ERRORS)]
NEEDS_NO_PICTURE = {"view two unknown", "nothing to join", "index type", "no number"}


def explained(function, namespace=None):
    return explain(caught(function), namespace)


def said(facts):
    """All that an explanation says."""
    return viz.why_text(facts)


def pictured(facts, kind):
    """The explanation's picture of a kind."""
    return next(picture for picture in facts.pictures if isinstance(picture, kind))


def clashes(shapes):
    """Label and text of the cells that are marked as not fitting."""
    return [(row.label, cell.text) for row in shapes.rows for cell in row.cells if cell and cell.mark == CLASH]


@pytest.mark.parametrize(("kind", "function", "part"), CASES)
def test_a_common_error_is_explained(kind, function, part):
    error = caught(function)
    facts = explain(error)
    assert facts.kind == kind and facts.error == type(error).__name__ and facts.message == str(error)
    assert facts.title and facts.cause and facts.fixes
    assert facts.pictures or kind in NEEDS_NO_PICTURE
    assert part in said(facts)
    html = viz.why_page(facts)
    page = Checker(html)
    assert facts.title in page.text and facts.cause in page.text and len(html.encode()) < 64 * 1024
    for picture in facts.pictures:
        assert page.tags.count("table") or isinstance(picture, (Groups, Places, Ruler, Steps))


def test_every_kind_of_the_table_is_tested(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of their programs write files
    programs = [*(f"{m.given}\n{m.fails}" for m in MISTAKES), *(asked.program for asked in [*ASKED, *PAGES])]
    of_students = (explain(caught(partial(run, torch, program))).kind for program in programs)
    assert set(EXPLANATIONS) == {kind for kind, _, _ in ERRORS} | set(of_students) - {""}


# -- what the pictures show ----------------------------------------------------------------------------------------


def test_the_sizes_that_do_not_broadcast_stand_in_one_column():
    a, b = torch.ones(5, 3, 4), torch.ones(2, 1)
    facts = explained(lambda: a * b)
    shapes = pictured(facts, Shapes)
    assert clashes(shapes) == [("a", "3"), ("b", "2"), ("result", "?")]
    columns = {row.label: [cell and cell.text for cell in row.cells] for row in shapes.rows}
    assert columns == {"a": ["5", "3", "4"], "b": [None, "2", "1"], "result": ["5", "?", "4"]}
    assert shapes.head == ("dim -3", "dim -2", "dim -1")


def test_of_two_columns_that_clash_the_cause_names_that_of_the_message():
    a, b = torch.ones(3, 4), torch.ones(4, 3)
    facts = explained(lambda: a + b)
    assert "at non-singleton dimension 1" in facts.message and "In dim -1, 4 meets 3." in facts.cause


def test_the_sizes_that_do_not_pair_in_a_product_are_marked():
    a, b = torch.ones(2, 3), torch.ones(4, 5)
    assert clashes(pictured(explained(lambda: a @ b), Shapes)) == [("a", "3"), ("b", "4")]


def test_fixes_of_a_broadcast_are_tried_out():
    a, b = torch.ones(3, 4), torch.ones(4, 3)
    codes = [fix.code for fix in explained(lambda: a + b).fixes]
    assert codes == ["b.T", "a.T", ""]
    c = torch.ones(7)
    assert [fix.code for fix in explained(lambda: a + c).fixes] == [""]


def test_a_view_that_fails_shows_strides_and_the_order_of_reading():
    x = torch.arange(6.0).view(2, 3)
    facts = explained(lambda: x.t().view(6))
    assert clashes(pictured(facts, Shapes)) == [("stride", "1"), ("stride to merge it with the next", "6")]
    assert pictured(facts, Places).seen == ((0,), (2,), (4,), (1,), (3,), (5,))
    assert pictured(facts, Places).storage == introspect.storage_number(x)


def test_only_the_dimensions_that_a_view_would_merge_are_marked():
    x = torch.ones(2, 3, 4).permute(0, 2, 1)  # stride (12, 1, 4)
    facts = explained(lambda: x.view(2, 12))
    assert clashes(pictured(facts, Shapes)) == [("stride", "1"), ("stride to merge it with the next", "12")]
    assert "merge dimensions 1 and 2" in facts.cause


def test_a_write_into_expanded_memory_shows_which_elements_share_a_place():
    e = torch.zeros(2, 1)[:, 0].unsqueeze(1).expand(2, 3)
    places = pictured(explained(lambda: e.add_(1)), Places)
    assert places.seen == ((0, 1, 2), (3, 4, 5))


def test_a_large_storage_is_drawn_in_part():
    x = torch.zeros(1000, 1000)
    places = pictured(explained(lambda: x.t().view(-1)), Places)
    assert len(places.seen) == 48 and places.total == 1_000_000


def test_an_index_out_of_range_stands_beyond_the_ruler():
    x = torch.ones(100, 8)
    ruler = pictured(explained(lambda: x[torch.tensor([3, 250])]), Ruler)
    assert (ruler.low, ruler.high, ruler.asked) == (-100, 99, (250,))


def test_targets_that_are_no_class_are_found_with_their_places():
    scores, labels = torch.zeros(4, 3), torch.tensor([0, 5, 1, 7])
    facts = explained(lambda: nn.functional.cross_entropy(scores, labels))
    assert pictured(facts, Ruler).asked == (5, 7)
    assert "They stand in labels at [1], [3]." in facts.cause


@pytest.mark.parametrize(("sizes", "marked"), [((2,), ("3", "2")), ((3, 5), ("4", "5"))])
def test_the_sizes_of_a_mask_that_do_not_fit_are_marked(sizes, marked):
    x, mask = torch.ones(3, 4), torch.ones(sizes, dtype=torch.bool)
    assert clashes(pictured(explained(lambda: x[mask]), Shapes)) == [("x", marked[0]), ("mask", marked[1])]


def test_wanted_targets_of_places_are_a_class_number_for_each():
    scores, masks = torch.zeros(2, 3, 4, 4), torch.zeros(2, 4, 4, 3, dtype=torch.int64)
    *_, wanted = pictured(explained(lambda: nn.functional.cross_entropy(scores, masks)), Shapes).rows
    assert (wanted.label, wanted.note) == ("wanted", "a class number for each")


@pytest.mark.parametrize(("value", "fix"), [(-1, ("usual is", "0.5")), (50, ("if percent are meant", "0.5"))])
def test_a_share_of_dropout_is_mended_by_the_usual_one_or_by_percent(value, fix):
    assert [(fix.text, fix.code) for fix in explained(lambda: nn.Dropout(value)).fixes] == [fix]


@pytest.mark.parametrize(("loop", "name"), [("for x in DataLoader(D(), 2): pass", "the loader"),
                                            ("l = DataLoader(D(), 2)\nfor x in l: pass", "l")])
def test_a_loader_whose_samples_differ_is_called_by_its_name_if_it_has_one(loop, name):
    dataset = ("DataLoader = torch.utils.data.DataLoader\nclass D:\n    def __len__(self): return 2\n"
               "    def __getitem__(self, i): return torch.ones(i + 1)\n")
    facts = explain(caught(lambda: run(torch, dataset + loop)))
    assert facts.cause.startswith(f"{name} lays the samples")


def test_devices_and_dtypes_stand_side_by_side():
    a, m = torch.ones(2), torch.ones(2, device="meta")
    groups = pictured(explained(lambda: a + m), Groups).groups
    assert [(group.title, group.members, group.device) for group in groups] == [
        ("cpu", ("a [2]",), True), ("meta", ("m [2]",), True),
    ]
    x = torch.ones(2, 2, dtype=torch.float64)
    groups = pictured(explained(lambda: a.view(1, 2) @ x), Groups).groups
    assert [group.title for group in groups] == ["float32", "float64"]


def test_backward_through_a_freed_graph_shows_the_way_to_the_freed_node():
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).exp().sum()
    loss.backward()
    steps = pictured(explained(lambda: loss.backward()), Steps).steps
    assert [step.title for step in steps] == ["loss", "SumBackward0", "ExpBackward0"]
    assert steps[-1].mark == CLASH and "freed" in steps[-1].detail


def test_out_of_memory_shows_how_much_there_is():
    rows = pictured(explained(lambda: torch.empty(1 << 44, device="npu")), Bars).rows
    sizes = {label: size for label, size, _ in rows}
    assert sizes["asked for"] == 1 << 46 and sizes["total"] < sizes["asked for"]


def test_a_failed_pipeline_shows_the_queue_and_explains_the_operator_that_failed():
    def run():
        x = torch.arange(5.0)
        with torch.pipeline():
            y = x * 2
            z = y[torch.tensor([7])]
            z.sum()

    facts = explained(run)
    steps = [(step.title, step.mark) for step in pictured(facts, Steps).steps]
    assert steps == [("mul.Tensor", "good"), ("index.Tensor", CLASH), ("sum", "gone")]
    assert "z = y[torch.tensor([7])]" in pictured(facts, Steps).steps[1].detail
    assert pictured(facts, Ruler).asked == (7,)
    assert facts.tensors[0].name == "y"


# -- writes in place -----------------------------------------------------------------------------------------------


def history(facts):
    return [(step.title, step.detail) for step in pictured(facts, Steps).steps]


def test_a_modified_saved_tensor_shows_the_lines_that_may_have_written_it():
    def run():
        a = torch.ones(3, requires_grad=True)
        b = a.exp()
        part = b[1:]
        part += 1
        other = torch.ones(3)
        other.add_(1)
        b.sum().backward()

    facts = explained(run)
    titles = [title for title, _ in history(facts)]
    assert titles == ["ExpBackward0", "part += 1", "backward"]
    assert history(facts)[-1][1] == "ExpBackward0 needs version 0 and finds 1"
    assert "read from the program's text" in facts.cause
    assert "%why --watch" in [fix.code for fix in facts.fixes]


@pytest.mark.parametrize("branch", [True, False])
def test_more_lines_that_may_have_written_than_writes_are_not_all_blamed(branch):
    def run():
        a = torch.ones(3, requires_grad=True)
        b = a.exp()
        if branch:
            b.add_(1)
        else:
            b.mul_(2)
        b.sum().backward()

    def once():
        a = torch.ones(3, requires_grad=True)
        b = a.exp()
        b.add_(1)
        b.sum().backward()

    assert "There are more of them than writes: not all are to blame." in explained(run).cause
    assert "There are more of them" not in explained(once).cause


def test_writes_to_a_counter_that_is_gone_are_not_those_of_one_in_its_place(monkeypatch):
    tensor = torch.zeros(2)
    tensor.add_(1)
    counter = id(tensor._version_counter)
    noted = [writes.Write("mul_", "file", line, version, counter)
             for line, version in enumerate((1, 2, 3, 1, 2))]  # of which the first three are another tensor's
    monkeypatch.setattr(writes, "_noted", noted)
    assert [write.line for write in writes.writes_to(id(tensor._version_counter), 0, 2)] == [3, 4]
    assert [write.line for write in writes.writes_to(id(tensor._version_counter), 1, 2)] == [4]
    noted.pop()  # a write that was not noted is not made up for by that of the tensor that is gone
    assert [write.line for write in writes.writes_to(id(tensor._version_counter), 0, 2)] == [3]


def test_watching_tells_which_write_led_to_which_version():
    def run(alias):
        a = torch.ones(3, requires_grad=True)
        b = a.exp()
        alias(b)
        b[0] = 7
        b.sum().backward()

    def through_a_function(tensor):
        tensor.mul_(2)

    introspect.watch_writes()
    try:
        assert introspect.watching_writes()
        facts = explained(lambda: run(through_a_function))
    finally:
        introspect.watch_writes(False)
    assert not introspect.watching_writes()
    assert [title for title, _ in history(facts)] == ["ExpBackward0", "tensor.mul_(2)", "b[0] = 7", "backward"]
    assert [detail.rpartition(" → ")[2] for _, detail in history(facts)[1:3]] == ["version 1", "version 2"]
    assert "read from the program's text" not in facts.cause
    assert "%why --watch" not in [fix.code for fix in facts.fixes]


def test_nothing_is_observed_once_writes_are_no_longer_watched():
    from mindtorch._dispatch import observers

    before = observers._observers
    introspect.watch_writes()
    introspect.watch_writes()
    assert len(observers._observers) == len(before) + 1
    introspect.watch_writes(False)
    introspect.watch_writes(False)
    assert observers._observers == before


def test_lines_of_other_cells_are_not_blamed_where_the_failing_one_has_enough(shell):
    shell.run_cell("w = torch.ones(3)\nw.relu_()")
    cell = ("w = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\nwith torch.no_grad():\n    w -= 1\n"
            "loss.backward()")
    facts = explain(shell.run_cell(cell).error_in_exec, shell.user_ns)
    assert [title for title, _ in history(facts)] == ["MulBackward0", "w -= 1", "backward"]


def test_a_backward_that_leads_into_an_older_graph_is_told_from_a_second_one():
    w, h = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)

    def step(h):
        h = torch.tanh(h @ w)
        h.sum().backward()
        return h

    h = step(h)
    facts = explained(lambda: step(h))
    steps = [(step.title, step.mark) for step in pictured(facts, Steps).steps[1:]]
    assert steps == [("SumBackward0", ""), ("TanhBackward0", "gone"), ("MmBackward0", "gone"), ("TanhBackward0", CLASH)]
    assert facts.fixes[0].code == "h = h.detach()"


def test_a_size_beyond_the_device_is_not_fixed_by_letting_go():
    said_of = said(explained(lambda: torch.empty(1 << 44, device="npu")))
    assert "more than the whole device has" in said_of and "empty_cache" not in said_of and "64 TiB" in said_of


def test_a_module_that_was_never_made_does_not_hinder():
    class Unmade(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(torch.ones(2))

    facts = explained(Unmade)
    assert facts.kind == "before init" and Checker(viz.why_page(facts)).text


# -- what is read --------------------------------------------------------------------------------------------------


def of_the_library(code):
    """Whether code is part of the library, and not of what explains it."""
    return code.co_filename.startswith(PACKAGE) and not code.co_filename.startswith((WHY, PACKAGE + "viz"))


def told(function_or_error):
    """What an explanation tells, without what differs from one run to the next: addresses and amounts of memory."""
    error = caught(function_or_error) if callable(function_or_error) else function_or_error
    facts = explain(error)
    pictures = [picture for picture in facts.pictures if not isinstance(picture, (Bars, Places))]
    tensors = [(tensor.role, tensor.name, tensor.shape, tensor.dtype) for tensor in facts.tensors]
    return facts.kind, facts.title, facts.cause, facts.fixes, pictures, tensors


@pytest.fixture(scope="module")
def explanations():
    return [told(function) for _, function, _ in ERRORS]


def test_no_local_variable_of_the_library_is_read(explanations):
    for (_, function, _), before in zip(ERRORS, explanations, strict=True):
        error, kept = caught(function), []
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if of_the_library(frame.f_code):
                kept.append(dict(frame.f_locals))
                frame.clear()
        assert told(error) == before


def test_renaming_the_local_variables_of_the_library_breaks_no_explanation(explanations):
    def renamed(code):
        taken = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS) + bool(
            code.co_flags & inspect.CO_VARKEYWORDS)
        arguments = code.co_varnames[:taken]
        return code.replace(
            co_varnames=(*arguments, *(f"_{name}" for name in code.co_varnames[taken:])),
            co_cellvars=tuple(name if name in arguments else f"_{name}" for name in code.co_cellvars))

    before = {thing: thing.__code__ for thing in every_object()
              if type(thing) is FunctionType and of_the_library(thing.__code__)}
    assert len(before) > 1000
    try:
        for function, code in before.items():
            function.__code__ = renamed(code)
        for (_, function, _), wanted in zip(ERRORS, explanations, strict=True):
            assert told(function) == wanted
    finally:
        for function, code in before.items():
            function.__code__ = code


def test_a_message_of_the_library_is_not_read():
    for kind, function, _ in ERRORS:
        error = caught(function)
        if getattr(error, "_about", None) and error._about.kind:
            error.args = ("in other words",)
            assert explain(error).kind == kind


# -- where and what ------------------------------------------------------------------------------------------------


def test_tensors_have_the_names_of_the_failing_function():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(5))

        def forward(self, x):
            hidden = x * 2
            return hidden * self.scale

    net = Net()
    facts = explained(lambda: net(torch.ones(2, 4)))
    assert [tensor.name for tensor in facts.tensors] == ["hidden", "self.scale"]
    assert facts.call.text == "return hidden * self.scale" and facts.call.function == "forward"
    assert facts.call.operator == "mul.Tensor"


def test_a_tensor_without_a_name_is_called_by_its_expression():
    x, y = torch.ones(2, 3), torch.ones(4)
    facts = explained(lambda: x.sum(0) + y[1:3])
    assert [tensor.label for tensor in facts.tensors] == ["x.sum(0)", "y[1:3]"]
    facts = explained(lambda: torch.add(input=x.t(), other=y))
    assert [tensor.label for tensor in facts.tensors] == ["x.t()", "y"]
    facts = explained(lambda: nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 2))(x + 1))
    assert facts.tensors[0].label == "input"  # of the second layer, which the program did not write


def test_a_namespace_gives_names_that_the_program_does_not():
    nested = [[nn.Linear(3, 2)]]
    error = caught(lambda: nested[0][0](torch.ones(2, 5)))
    assert [tensor.name for tensor in explain(error).tensors][1:] == ["", ""]
    named = explain(error, {"layer": nested[0][0]}).tensors
    assert [tensor.name for tensor in named][1:] == ["layer.weight", "layer.bias"]


def test_the_tensors_are_listed_with_their_layout():
    a, b = torch.ones(4, 3).t(), torch.ones(5)
    first, second = explained(lambda: a + b).tensors
    assert (first.shape, first.stride, first.dtype, first.device) == ((3, 4), (1, 3), "float32", "cpu")
    assert first.of == "" and first.version == 0 and first.role == "self"
    assert (second.shape, second.role) == ((5,), "other")
    page = Checker(viz.why_page(explained(lambda: a + b)))
    assert "float32[3, 4]" in page.text and "(1, 3)" in page.text


def test_an_error_that_no_row_knows_is_said_to_be_unknown():
    facts = explained(lambda: torch.bincount(torch.tensor([-1, 2])))
    assert facts.kind == "" and "no explanation for this error yet" in facts.cause
    assert "bincount" in facts.title and facts.call.operator == "bincount"
    assert facts.tensors[0].shape == (2,) and Checker(viz.why_page(facts)).text


def test_an_error_of_somebody_else_is_not_explained():
    facts = explained(lambda: {}["size mismatch, got input"])
    assert facts.kind == "" and "did not arise inside mindtorch" in facts.cause and facts.tensors == ()
    assert Checker(viz.why_page(facts)).text and said(facts)


def test_an_error_in_a_function_that_mindtorch_called_is_the_program_s():
    class Model(nn.Module):
        def forward(self, x):
            return {}["missing"]

    facts = explained(lambda: Model()(torch.ones(2)))
    assert "did not arise inside mindtorch" in facts.cause and facts.call.text == 'return {}["missing"]'
    w = torch.ones(2, requires_grad=True)
    w.register_hook(lambda grad: 1 // 0)
    facts = explained(lambda: w.sum().backward())
    assert facts.error == "ZeroDivisionError" and "did not arise inside mindtorch" in facts.cause


@pytest.mark.parametrize("in_a_cell", [False, True])
def test_an_error_in_a_compiled_program_stands_at_the_line_that_was_compiled(shell, tmp_path, in_a_cell):
    source = "def pick(x, i):\n    y = x * 2\n    return y[0].index_select(0, i)\n"
    if in_a_cell:
        assert shell.run_cell(source).success
        pick = shell.user_ns["pick"]
    else:
        (tmp_path / "picking.py").write_text(source)
        space: dict[str, object] = {}
        exec(compile(source, str(tmp_path / "picking.py"), "exec"), space)
        pick = space["pick"]
    compiled, x = torch.compile(pick), torch.ones(2, 3)
    compiled(x, torch.tensor([0]))
    facts = explained(lambda: compiled(x, torch.tensor([7])))
    assert facts.kind == "index in self" and "aten" not in facts.title
    assert (facts.call.operator, facts.call.line, facts.call.file) == ("index_select", 3, pick.__code__.co_filename)
    assert facts.call.text == "return y[0].index_select(0, i)"


def test_what_python_cannot_read_stands_at_its_own_line(shell):
    facts = explain(shell.run_cell("x = 1\ny = (2").error_before_exec)
    assert (facts.call.line, facts.call.text) == (2, "y = (2") and "nothing of it has run" in facts.cause
    assert "line" not in facts.title and said(facts)


def test_an_error_without_a_traceback_has_no_place():
    for error in (SyntaxError("'(' was never closed"), KeyboardInterrupt(), RuntimeError("elsewhere")):
        facts = explain(error)
        assert facts.call is None and facts.kind == "" and facts.title and said(facts)


def test_an_error_raised_from_one_of_mindtorch_is_traced_to_it():
    def run():
        try:
            torch.ones(2) + torch.ones(3)
        except RuntimeError as error:
            raise ValueError("my own") from error

    assert explained(run).kind == "broadcast"


def test_an_explanation_that_does_not_find_its_facts_says_so(monkeypatch):
    monkeypatch.setitem(EXPLANATIONS, "broadcast", lambda failure, fields: {}["missing"])
    facts = explained(lambda: torch.ones(2) + torch.ones(3))
    assert facts.kind == "" and "looks like 'broadcast'" in facts.cause and "KeyError" in facts.cause


# -- harmless ------------------------------------------------------------------------------------------------------


def hostile(name):
    """Explanations in which names, keys, messages and all that pictures hold are ``name``."""
    d = {name: torch.ones(2), "other": torch.ones(3)}
    state = {name: torch.ones(2)}
    yield explained(lambda: d[name] + d["other"])
    yield explained(lambda: torch.cat([d[name], torch.ones(1, 1)]))
    yield explained(lambda: nn.Linear(2, 2).load_state_dict(state))
    yield explain(ValueError(name))
    pictures = (
        Shapes((ShapeRow(name, (Cell(name, CLASH), None), name),), (name,), name),
        Places(name, 0, ((0, 1), ()), 9, 0, name),
        Ruler(name, 0, 3, (9,), name), Steps((Step(name, name, CLASH), Step(name)), name, name),
        Groups((Group(name, (name,), CLASH), Group(name, (), "", True)), name), Bars(((name, 3, CLASH),), name),
    )
    call = Call(name, name, 3, name, name)
    tensor = Involved(name, name, name, name, (1,), (1,), 0, name, 0, True, name, 0)
    yield introspect.Explanation(name, name, name, (Fix(name, name),), name, name, call, (tensor,), pictures)


@settings(max_examples=25, deadline=None)
@given(HOSTILE)
def test_hostile_names_and_messages_stay_text(name):
    for facts in hostile(name):
        page = Checker(viz.why_page(facts), styled=False)
        assert set(page.tags) <= ALLOWED | {"code", "ul", "li", "p", "pre", "small"}
        assert not any(key.startswith("on") or key in ("href", "src", "srcdoc") for key, _ in page.attributes)
        assert name not in [value for key, value in page.attributes if key in ("style", "class", "id", "d")]
        assert viz.why_text(facts)


@pytest.mark.parametrize("names", [("add", 3), ("exp", None)])
def test_explaining_keeps_no_tensor_alive(names):
    def run():
        a = torch.ones(3, requires_grad=True)
        b = a.exp()
        storages.append(weakref.ref(b.untyped_storage()))
        if names[1]:
            b + torch.ones(names[1] + 1)
        b.add_(1)
        b.sum().backward()

    storages = []
    introspect.watch_writes()
    try:
        error = caught(run)
        facts = explain(error)
        text, html = viz.why_text(facts), viz.why_page(facts)
    finally:
        introspect.watch_writes(False)
    gc.collect()
    assert storages[0]() is not None  # the traceback holds it
    gc.disable()
    try:
        del error
        assert storages[0]() is None and facts and text and html
    finally:
        gc.enable()


def test_explaining_changes_nothing():
    x = torch.ones(2, 3)
    with torch.pipeline() as pipeline:
        pending = x * 2
        error = caught(lambda: pending + torch.ones(4))
        count = len(pipeline)
        assert explain(error).kind == "broadcast" and len(pipeline) == count
    m = torch.ones(2, requires_grad=True)
    error = caught(lambda: m.add_(1))
    explain(error)
    assert m._version == 0 and m.grad is None


# -- the magic -----------------------------------------------------------------------------------------------------


def test_the_last_error_is_the_one_that_was_shown(monkeypatch):
    for name in ("last_exc", "last_value"):
        monkeypatch.delattr(sys, name, raising=False)
    assert introspect.last_error() is None
    error = ValueError("shown")
    monkeypatch.setattr(sys, "last_value", error, raising=False)
    assert introspect.last_error() is error


def test_floats_as_indices_are_marked_and_the_table_is_not() -> None:
    table, ids = nn.Embedding(10, 4), torch.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError) as raised:
        table(ids)
    facts = explain(raised.value)
    groups, = facts.pictures
    assert [(group.members, group.mark) for group in groups.groups] == [
        (("ids [2]: float32",), "clash"), (("int64", "int32"), "good")]
