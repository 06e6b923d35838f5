"""``%check``: mistakes that raise nothing are found, with cause, place, picture and cure; right programs have none."""
from __future__ import annotations

import linecache
import sys
import types
from contextlib import nullcontext
from functools import cache

import pytest
from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

import mindtorch as torch
from mindtorch import introspect, nn, optim, viz
from mindtorch._dispatch import observers
from mindtorch.introspect.checks import probes

from . import trainings
from .silent import BEGIN, BUGS, CLEAN
from .test_pictures import Checker


@pytest.fixture(params=["mindtorch", "torch"])
def lib(request):
    return torch if request.param == "mindtorch" else pytest.importorskip("torch", reason="needs PyTorch")


@cache
def checked(program: str, lib: types.ModuleType = torch) -> introspect.CheckFacts:
    """What is found in a program of a library, which is run as a cell is, once."""
    return trainings.checked(program, lib, BEGIN)


@pytest.mark.parametrize(("kind", "says", "program"), BUGS, ids=[f"{i} {bug[0]}" for i, bug in enumerate(BUGS)])
@pytest.mark.sampled(3)
def test_a_silent_mistake_is_found(lib, kind, says, program):
    facts = checked(program, lib)
    found = next((finding for finding in facts.findings if finding.kind == kind), None)
    assert found is not None, facts
    told = "\n".join([found.title, found.cause, *(f"{fix.text}: {fix.code}" for fix in found.fixes)])
    assert says in told and found.fixes and found.pictures
    assert found.place is None or found.place.text in program
    assert found.title in viz.check_text(facts) and found.title in Checker(viz.check_page(facts)).text
    assert found.title in str(facts)


@pytest.mark.parametrize(("lib", "program"), [*(("mindtorch", program) for program in CLEAN),
                                              *(("torch", program) for program in CLEAN[::3])], indirect=["lib"])
@pytest.mark.sampled(2)
def test_nothing_is_found_in_a_program_that_is_right(lib, program):
    facts = checked(program, lib)
    assert not facts.findings, facts
    assert "nothing" in viz.check_text(facts)


@pytest.mark.parametrize("program", [bug[2] for bug in BUGS], ids=[f"{i} {bug[0]}" for i, bug in enumerate(BUGS)])
@pytest.mark.sampled(4)
def test_the_same_is_found_on_pytorch(program):
    pytorch = pytest.importorskip("torch", reason="needs PyTorch")
    ours, theirs = (checked(program, lib) for lib in (torch, pytorch))
    assert [vars(finding) for finding in ours.findings] == [vars(finding) for finding in theirs.findings]
    assert ours.checked == theirs.checked


def test_a_layer_of_one_pass_is_told_once_though_the_last_is_still_held(lib):
    program = next(program for kind, _, program in BUGS if kind == "made in each pass")
    program = program.replace("return nn.Linear(8, 1)(", "held[:] = [nn.Linear(8, 1)]; return held[0](")
    program = f"held = []\n{program}"
    assert [finding.kind for finding in checked(program, lib).findings] == ["made in each pass"]


def test_a_model_is_not_taken_for_one_that_was_at_its_address():
    asked = probes.Probes(types.SimpleNamespace(here=lambda: None))
    for _ in range(20):
        model = nn.Linear(1, 1)
        asked.call(model, (), {}, recorded=True)
        assert asked.asked[model].calls == 1 and asked.asked[model].module is model
        del model
    assert not asked.asked


def test_a_cell_that_ran_before_is_not_looked_at():
    """A notebook keeps the text of all its cells, and names are used again."""
    name = "<before>"
    linecache.cache[name] = 1, None, ["for _ in range(3):\n", "    h = h + 1\n", "    h.backward()\n"], name
    try:
        assert not checked("h = net(x).mean()\nh.backward()\nopt.step()").findings
    finally:
        del linecache.cache[name]


PROGRAMS = trainings.programs()
SAMPLE = PROGRAMS[::9]


@pytest.mark.parametrize("program", SAMPLE, ids=map(str, SAMPLE))
@pytest.mark.sampled(2)
def test_a_sample_of_the_programs_is_judged_rightly(program):
    """All of them: ``python -m tests.notebook.trainings``."""
    facts = trainings.checked(program.text, torch)
    assert trainings.verdict(program, facts) in ("cause", "clean"), facts
    for finding in facts.findings:
        assert finding.fixes and finding.pictures and finding.title in viz.check_text(facts)


@pytest.mark.parametrize("program", SAMPLE[::3], ids=map(str, SAMPLE[::3]))
@pytest.mark.sampled(2)
def test_the_sample_is_judged_alike_on_pytorch(program):
    pytorch = pytest.importorskip("torch", reason="needs PyTorch")
    assert trainings.verdict(program, trainings.checked(program.text, pytorch)) in ("cause", "clean")


KERNEL = """
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.q, self.k, self.head = nn.Embedding(7, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 7)
    def forward(self, ids):
        h, past = self.emb(ids)[:, None], torch.ones(ids.shape[1], ids.shape[1]).tril() == 1
        attend, mask = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu, past if right else ~past
        mask = torch.zeros(past.shape).masked_fill(~mask, -1e9)
        return self.head(attend(self.q(h), self.k(h), h, attn_mask=mask)[0][:, 0])
net, ids = Decoder(), torch.randint(0, 7, (4, 7))
opt = optim.Adam(net.parameters())
for _ in range(3):
    loss = F.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad(); loss.backward(); opt.step()
"""


@pytest.mark.parametrize("right", [False, True])
def test_an_inverted_mask_of_the_kernel_of_attention_is_found(lib, right):
    found = trainings.checked(f"right = {right}{KERNEL}", lib).findings
    assert ("mask inverted" in [finding.kind for finding in found]) is not right


COSINE = """
net = nn.Linear(3, 2)
data = [(torch.randn(8, 3), torch.randint(0, 2, (8,))) for _ in range(6)]
opt = optim.SGD(net.parameters(), 0.1)
sched = optim.lr_scheduler.CosineAnnealingLR(opt, T_max=horizon)
for epoch in range(5):
    for x, t in data:
        opt.zero_grad()
        F.cross_entropy(net(x), t).backward()
        opt.step()
        sched.step()
"""


@pytest.mark.parametrize(("horizon", "is_found"), [(3, True), (5, True), (30, False)])
def test_a_schedule_of_no_more_epochs_than_there_are_is_not_stepped_every_batch(lib, horizon, is_found):
    found = trainings.checked(f"horizon = {horizon}{COSINE}", lib).findings
    assert ("schedule every batch" in [finding.kind for finding in found]) is is_found


def test_there_are_enough():
    bugs = [program for program in PROGRAMS if program.words]
    assert len(bugs) >= 80 and len(PROGRAMS) - len(bugs) >= 60 and len(BUGS) >= 20 and len(CLEAN) >= 20
    assert len({str(program) for program in PROGRAMS}) == len(PROGRAMS)


TRACED = """
net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2)); calls = []
net.register_forward_hook(lambda *_: calls.append(1))
opt = optim.SGD(net.parameters(), 0.1); x, t = torch.randn(8, 3), torch.randint(0, 2, (8,))
for _ in range(2):
    opt.zero_grad(); F.cross_entropy(net(x), t).backward(); opt.step()
"""


def test_probes_leave_no_trace(lib):
    """Parameters, gradients, buffers, versions, hooks, calls and random numbers are those without a check."""
    def end(watched):
        space = {"torch": lib, "nn": lib.nn, "F": lib.nn.functional, "optim": lib.optim}
        lib.manual_seed(3)
        with introspect.checking(space) if watched else nullcontext():
            exec(TRACED, space)
        net = space["net"]
        hooks = [len(table) for part in net.modules() for table in (part._forward_hooks, part._forward_pre_hooks)]
        tensors = [*net.parameters(), *net.buffers()]
        return ([t.tolist() for t in tensors], [p.grad.tolist() for p in net.parameters()], net.training, hooks,
                [t._version for t in (*tensors, space["x"])], space["calls"], lib.rand(3).tolist())

    assert end(True) == end(False)


def test_a_model_that_is_too_large_to_be_asked_is_named(lib, monkeypatch):
    monkeypatch.setattr(probes, "PARAMETERS", 10)
    facts = trainings.checked(f"{TRACED}", lib)
    assert not facts.findings and "probes of Sequential left out" in " ".join(facts.checked)


def model_and_loss(broadcasts=True):
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 1), torch.randn(8, 3), torch.randn(8)
    loss = nn.functional.mse_loss(model(x), y if broadcasts else y[:, None])
    return model, loss, optim.SGD(model.parameters(), lr=0.1)


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_model_its_loss_and_its_optimizer_are_looked_at_in_any_order():
    for order in ((0, 1, 2), (2, 1, 0), (1,)):
        values = model_and_loss()
        facts = torch.check(*(values[i] for i in order))
        assert [finding.kind for finding in facts.findings] == ["loss broadcasts"]
    assert not torch.check(*model_and_loss(broadcasts=False)).findings
    with pytest.raises(TypeError, match="check takes modules, losses and optimizers, not int"):
        torch.check(1)


@pytest.mark.parametrize(("make", "kind"), [
    (lambda model, loss, opt: (model, loss.detach(), opt), "no graph"),
    (lambda model, loss, opt: (model, loss * float("nan"), opt), "loss is no number"),
    (lambda model, loss, opt: (model, loss, optim.SGD([model.weight], lr=0.1)), "not in the optimizer"),
    (lambda model, loss, opt: (nn.Linear(3, 1), loss, opt), "not reached"),
    (lambda model, loss, opt: (nn.Sequential(model, nn.Dropout()).eval(), loss, opt), "eval while training"),
])
def test_what_is_wrong_with_them_is_said(make, kind):
    facts = torch.check(*make(*model_and_loss(broadcasts=False)))
    assert kind in [finding.kind for finding in facts.findings]


def test_gradients_that_are_no_numbers_are_found_where_they_lie():
    model, loss, opt = model_and_loss(broadcasts=False)
    (loss * float("inf")).backward()
    assert [finding.kind for finding in torch.check(model, opt).findings] == ["gradient is no number"]


def test_the_line_to_blame_is_named():
    _, _, program = next(bug for bug in BUGS if bug[0] == "first NaN")
    place = checked(f"u = 1\n{program}").findings[0].place
    assert place.line == 3 and ".log()" in place.text


def test_nothing_is_watched_once_it_is_over():
    from mindtorch.nn import _hooks
    from mindtorch.optim import optimizer

    def watched():
        hooks = (optimizer._global_pre_hooks, optimizer._global_post_hooks)
        return observers._value_observers, [len(table) for table in hooks], torch.is_anomaly_enabled()

    before = watched()
    with pytest.raises(ZeroDivisionError), introspect.checking():
        assert watched() != before
        1 / 0
    assert watched() == before and _hooks


def test_the_magic_looks_at_what_is_named_or_watches_a_cell(shell):
    shell.run_cell(f"from mindtorch import nn, optim\nF = nn.functional\n{BEGIN}\nloss = F.cross_entropy("
                   "classes(x).softmax(1), t)")
    picture = shell.run_line_magic("check", "classes, loss, copt")
    assert "softmax comes before cross_entropy" in repr(picture) and "mt-check" in picture._repr_html_()
    with capture_output() as captured:
        result = shell.run_cell("%%check\n" + next(bug[2] for bug in BUGS if bug[0] == "forgotten zero_grad") + "\n7")
    assert result.result == 7
    assert "the gradients of the step before are still there" in captured.outputs[0].data["text/plain"]
    shown = shell.display_formatter.format(torch.check(shell.user_ns["classes"]))[0]
    assert "nothing found" in shown["text/html"] and "no findings" in shown["text/plain"]
    for line, message in [("", "needs what to look at"), ("nothing_here", "cannot evaluate"), ("x + 0, 5", "not int")]:
        with pytest.raises(UsageError, match=message):
            shell.run_line_magic("check", line)


def test_a_cell_that_fails_is_reported_all_the_same(shell):
    with capture_output() as captured:
        failed = shell.run_cell("%%check\ntorch.ones(2).log() + 1\ntorch.ones(2) + torch.ones(3)")
    assert isinstance(failed.error_in_exec, RuntimeError)
    text = captured.outputs[0].data["text/plain"]
    assert "nothing found" in text and "no model, loss or optimizer was used" in text and "✓" not in text


def test_a_cell_of_pytorch_is_watched_and_nothing_stays(bare):
    pytorch = pytest.importorskip("torch", reason="needs PyTorch")
    hooks = sys.modules[pytorch.optim.Optimizer.__module__]

    def watched():
        tables = (pytorch.nn.modules.module._global_forward_pre_hooks, hooks._global_optimizer_pre_hooks)
        return [len(table) for table in tables], pytorch.is_anomaly_enabled()

    before = watched()
    bare.run_line_magic("load_ext", "mindtorch")
    bare.run_cell(f"import torch\nfrom torch import nn, optim\nF = nn.functional\n{BEGIN}")
    with capture_output() as captured:
        bare.run_cell("%%check\n" + next(bug[2] for bug in BUGS if bug[0] == "forgotten zero_grad"))
    bare.run_line_magic("unload_ext", "mindtorch")
    assert "the gradients of the step before are still there" in captured.outputs[0].data["text/plain"]
    assert watched() == before
