"""PyTorch's own tensors: the same program, run on mindtorch and on PyTorch, gives the same facts and pictures."""
from __future__ import annotations

import re
from collections import namedtuple
from dataclasses import asdict, fields, replace

import pytest

import mindtorch
from mindtorch import introspect, viz
from mindtorch.introspect.memory import StorageUse, cuda_segment
from mindtorch.viz.palette import storage_letter

pytorch = pytest.importorskip("torch")

Pair = namedtuple("Pair", "left right")

# -- programs: each makes tensors with a library's module, and returns its variables ----------------------------------


def contiguous(torch):
    x = torch.arange(12.0).view(3, 4)
    return locals()


def transposed(torch):
    x = torch.arange(12.0).view(3, 4)
    y = x.t()
    return locals()


def sliced(torch):
    x = torch.arange(24).view(4, 6)
    y, z = x[1:3, ::2], x[:, 5]
    return locals()


def expanded(torch):
    x = torch.arange(3.0)
    y = x.expand(2, 3)
    return locals()


def overlapping(torch):
    x = torch.arange(6.0)
    y = x.as_strided((4, 3), (1, 1))
    return locals()


def permuted(torch):
    x = torch.zeros(2, 3, 4, 5)
    y = x.permute(0, 3, 1, 2)
    z = x.contiguous(memory_format=torch.channels_last)
    return locals()


def single(torch):
    x = torch.tensor(3.5)
    y = torch.tensor([[7]])
    return locals()


def empty(torch):
    x = torch.empty(3, 0, 2)
    y = torch.empty(0)
    return locals()


def dtypes(torch):
    return {name: torch.ones(2, 3, dtype=getattr(torch, name)) for name in (
        "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
        "complex128")}


def special_values(torch):
    x = torch.tensor([[1.0, float("nan")], [float("inf"), -2.0]])
    return locals()


def meta(torch):
    x = torch.empty(100, 100, device="meta")
    y = x[::2]
    return locals()


def large(torch):
    x = torch.arange(200_000.0).view(500, 400)
    y = x.t()
    return locals()


def picture(torch):
    x = torch.linspace(0, 1, 256).view(16, 16)
    y = (torch.arange(3 * 256) % 256).to(torch.uint8).view(3, 16, 16)
    return locals()


def written_in_place(torch):
    x = torch.zeros(4)
    y = x[1:]
    x.add_(1)
    y.mul_(2)
    x[0] = 5
    return locals()


def leaf(torch):
    x = torch.ones(3, requires_grad=True)
    return locals()


def chain(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * 2).exp().sum()
    return locals()


def parallel_edges(torch):
    h = torch.arange(3.0, requires_grad=True)
    y = (h * h).sum()
    return locals()


def product(torch):
    x = torch.ones(3, 4)
    w = torch.ones(4, 2, requires_grad=True)
    loss = (x @ w).relu().sum()
    return locals()


def after_backward(torch):
    w = torch.ones(4, 2, requires_grad=True)
    h = w.exp()
    loss = (h * h).sum()
    loss.backward()
    return locals()


def kept_graph(torch):
    w = torch.ones(4, requires_grad=True)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    return locals()


def retained(torch):
    w = torch.ones(4, requires_grad=True)
    h = w.exp()
    h.retain_grad()
    loss = h.sum()
    loss.backward()
    return locals()


def stale(torch):
    w = torch.ones(4, requires_grad=True)
    h = w.exp()
    y = h * 2
    h.detach().add_(1)
    return locals()


def hooked(torch):
    w = torch.ones(4, requires_grad=True)
    w.register_hook(lambda grad: grad)
    return locals()


def detached(torch):
    w = torch.ones(4, requires_grad=True)
    y = (w * 2).detach()
    return locals()


def unrecorded(torch):
    w = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        y = w * 2
    return locals()


def inference(torch):
    with torch.inference_mode():
        x = torch.ones(3)
        y = x[1:]
    return locals()


def several_outputs(torch):
    x = torch.arange(6.0, requires_grad=True)
    a, b = x.split(3)
    top = torch.arange(6.0).view(2, 3).max(1)
    return locals()


def views_in_the_graph(torch):
    x = torch.arange(6.0, requires_grad=True)
    y = x.view(2, 3).t()[1]
    loss = y.sum()
    return locals()


def concatenated(torch):
    a = torch.ones(2, requires_grad=True)
    b = torch.zeros(3, requires_grad=True)
    y = torch.cat([a, b])
    return locals()


def indexed(torch):
    x = torch.arange(6.0, requires_grad=True)
    y = x[torch.tensor([0, 2])]
    return locals()


def own_function(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    y = Double.apply(x)
    return {"x": x, "y": y}


def packed(torch):
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numel(), lambda n: 1 / 0):
        y = x.exp()
    return locals()


def layer(torch):
    model = torch.nn.Linear(3, 2)
    loss = model(torch.ones(1, 3)).sum()
    loss.backward()
    return locals()


def network(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    model[0].requires_grad_(False)
    loss = model(torch.ones(2, 3)).mean()
    return locals()


def tied(torch):
    model = torch.nn.ModuleList([torch.nn.Linear(3, 3, bias=False) for _ in range(2)])
    model[1].weight = model[0].weight
    return locals()


def lazy(torch):
    model = torch.nn.LazyLinear(2)
    return locals()


def trained(torch):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    return locals()


def containers(torch):
    x = torch.arange(6.0)
    xs = [x, x[1:], (x[2:], 3)]
    d = {"a": x.view(2, 3), 2: "text"}
    pair = Pair(x, torch.ones(2))
    return locals()


def loaded(torch):
    data = torch.utils.data.TensorDataset(torch.arange(4.0), torch.arange(4))
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    return locals()


PROGRAMS = [contiguous, transposed, sliced, expanded, overlapping, permuted, single, empty, dtypes, special_values,
            meta, large, picture, written_in_place, leaf, chain, parallel_edges, product, after_backward, kept_graph,
            retained, stale, hooked, detached, unrecorded, inference, several_outputs, views_in_the_graph, concatenated,
            indexed, own_function, packed, layer, network, tied, lazy, trained, containers, loaded]


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.__name__)
def both(request):
    """The variables of a program on mindtorch and on PyTorch."""
    found = []
    for torch in (mindtorch, pytorch):
        torch.manual_seed(0)
        found.append({name: value for name, value in request.param(torch).items() if name != "torch"})
    return found


def named(namespace):
    return dict(introspect.named_tensors(namespace))


# -- what is compared -------------------------------------------------------------------------------------------------


def test_the_same_names_are_found(both):
    ours, theirs = map(named, both)
    assert list(ours) == list(theirs)


def test_each_tensor_has_the_same_facts(both):
    ours, theirs = (
        [introspect.tensor_facts(tensor, introspect.names_of(space)) for tensor in named(space).values()]
        for space in both)
    for mine, its in zip(ours, theirs, strict=True):
        for field in fields(mine):
            if field.name not in ("storage", "address", "statistics"):
                assert getattr(mine, field.name) == getattr(its, field.name), (mine.name, field.name)
        assert bool(mine.address) == bool(its.address), mine.name
        assert (mine.statistics is None) == (its.statistics is None), mine.name
        if mine.statistics is not None:
            assert numbers(mine.statistics) == pytest.approx(numbers(its.statistics), rel=1e-4, nan_ok=True), mine.name


def numbers(statistics):
    """All of them; NaN stands for what is not known."""
    *found, histogram = asdict(statistics).values()
    return [float("nan") if number is None else number for number in found] + [sum(histogram)]


def test_the_same_tensors_share_their_memory(both):
    ours, theirs = ([[row.storage == other.storage for other in rows] for row in rows]
                    for rows in map(introspect.tensors_facts, both))
    assert ours == theirs


def test_each_storage_is_covered_and_read_alike(both):
    for name in named(both[0]):
        ours, theirs = (storage_of(space, name) for space in both)
        assert ours == theirs, name


def storage_of(space, name):
    """Facts of a storage, of its tensors those with a name: that of the others PyTorch does not know."""
    facts = introspect.storage_facts(named(space)[name], introspect.names_of(space), limit=50)
    sharers = [(s.name, s.dtype, s.shape, s.stride, s.offset, s.requires_grad, s.coverage, s.reads)
               for s in facts.sharers if s.name]
    return facts.device, facts.bytes, facts.itemsize, facts.segments, facts.segment_bytes, facts.shared_memory, sharers


def test_each_graph_has_the_same_nodes_edges_and_saved_tensors(both):
    for name, tensor in named(both[0]).items():
        if tensor.requires_grad:
            ours, theirs = (numbered(introspect.graph_facts(named(space)[name], named(space))) for space in both)
            assert ours == theirs, name


def numbered(facts):
    """A graph's nodes in the order of a walk from the root, with numbers in the place of identities."""
    nodes, order = {node.identity: node for node in facts.nodes}, []
    stack = [facts.root]
    while stack:
        identity = stack.pop()
        if identity not in order:
            order.append(identity)
            stack += [edge[0] for edge in reversed(nodes[identity].edges) if edge]
    number = {identity: i for i, identity in enumerate(order)}
    return [(node.name, node.variable, node.shapes[:outputs(node)], node.dtypes[:outputs(node)], node.outputs,
             node.has_grad, [edge and (number[edge[0]], edge[1]) for edge in node.edges], tensors_in(node))
            for node in map(nodes.__getitem__, order)]


def outputs(node):
    """How many outputs are compared: of a batch norm's three, PyTorch has the one that can be differentiated."""
    return 1 if node.name == "NativeBatchNormBackward0" else None


def tensors_in(node):
    """What is kept; a number, of which PyTorch makes a tensor without dimensions, is one for mindtorch."""
    found = [tuple(asdict(saved).values()) for saved in node.saved if saved.is_tensor]
    return sorted(row for row in found if not (row[1].endswith("[]") and not row[3]))


def test_modules_have_the_same_tree(both):
    for name, module in both[0].items():
        if isinstance(module, mindtorch.nn.Module):
            assert introspect.module_facts(module, name) == introspect.module_facts(both[1][name], name)


def test_containers_hold_the_same(both):
    for name, value in both[0].items():
        if introspect.holds_tensors(value):
            ours, theirs = (introspect.container_facts(space[name], space, name) for space in both)
            assert without_memory(ours) == without_memory(theirs)


def without_memory(facts):
    """Facts without what differs from run to run; an optimizer's state is written in steps of its own."""
    tensor = facts.tensor and replace(facts.tensor, storage=0, address=0, statistics=None)
    if tensor and facts.label == "['momentum_buffer']":
        tensor = replace(tensor, version=0)
    text = re.sub("^<.*>$", "<object>", facts.text)
    return replace(facts, tensor=tensor, text=text, children=tuple(map(without_memory, facts.children)))


def test_the_cards_say_the_same(both):
    for name in named(both[0]):
        ours, theirs = (told(named(space)[name], introspect.names_of(space)) for space in both)
        assert ours == theirs, name


def told(tensor, names):
    """A card's text without what differs from run to run: addresses, letters of storages, unnamed sharers."""
    text = viz.tensor_card(tensor, names).plain
    letter = storage_letter(introspect.storage_number(tensor))
    text = text.replace(f"storage {letter}", "storage").replace(f"storage{letter}:", "storage:")
    lines = [line for line in text.splitlines() if not re.match(r"its base|\(no name\)|and \d+ more", line)]
    said = re.sub(r"0x[0-9a-f]+", "0x", "\n".join(lines))
    return re.sub(r"seen by \d+ tensors?|[^\S\n]+", " ", said)


# -- what only PyTorch has ---------------------------------------------------------------------------------------------


def fake():
    with pytorch._subclasses.fake_tensor.FakeTensorMode():
        return pytorch.ones(3, 4)


def nested(**options):
    return pytorch.nested.nested_tensor([pytorch.ones(2, 3), pytorch.ones(1, 3)], **options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "said"), [
    (lambda: pytorch.eye(3).to_sparse(), "layout sparse_coo: 3 of 9 elements are stored"),
    (lambda: pytorch.eye(3).to_sparse_csr(), "x.crow_indices() [4]"),
    (lambda: pytorch.eye(3).to_sparse_csc(), "x.ccol_indices() [4]"),
    (lambda: pytorch.eye(4).to_sparse_bsr((2, 2)), "x.values() [2, 2, 2]"),
    (lambda: pytorch.ones(2).to_mkldnn(), "its operators only"),
    (lambda: nested(), "nested: 2 tensors one after the other, of shapes [2, 3], [1, 3]"),
    (lambda: nested(layout=pytorch.jagged), "of shapes [2, 3], [1, 3]"),
    (fake, "a FakeTensor"),
])
def test_a_tensor_that_is_no_piece_of_memory_has_a_card_that_says_what_it_is(make, said):
    tensor = make()
    assert said in viz.tensor_card(tensor).plain
    assert introspect.tensor_facts(tensor).statistics is None
    assert introspect.container_facts([tensor]).children[0].tensor.without
    assert introspect.tensors_facts({"x": tensor})[0].name == "x" and introspect.memory_facts()
    assert introspect.storage_facts(tensor).sharers


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "value"), [
    (lambda: pytorch.quantize_per_tensor(pytorch.full((2, 2), 1.5), 0.5, 0, pytorch.quint8), 1.5),
    (lambda: pytorch.full((2, 2), 1 + 2j).conj(), 1 - 2j), (lambda: pytorch.full((2, 2), 1 + 2j).conj().imag, -2.0),
    (lambda: pytorch.full((2, 2), 1.5, dtype=pytorch.float8_e4m3fn), 1.5),
    (lambda: pytorch.full((2, 2), 1.5, dtype=pytorch.bfloat16).t(), 1.5),
    (lambda: pytorch.full((2, 2), 1.5 + 1j, dtype=pytorch.complex32), 1.5 + 1j),
    (lambda: pytorch.full((2, 2), 7, dtype=pytorch.uint16), 7),
])
def test_values_are_what_python_gets_of_them(make, value):
    tensor = make()
    assert [cell.value for cell in introspect.cells(tensor, [(0, 1), (1, 1)])] == [value, value]
    assert introspect.tensor_facts(tensor).statistics.total == 4 and viz.tensor_card(tensor)


def test_inside_a_transform_the_card_says_so_and_runs_nothing():
    cards = []
    pytorch.vmap(lambda x: cards.append(viz.tensor_card(x).plain) or x)(pytorch.ones(2, 3))
    assert "inside a transform of torch.func" in cards[0]


def test_a_class_with_operators_of_its_own_is_described_without_running_them():
    class Loud(pytorch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError(f"{func} ran")

    class Wrapper(pytorch.Tensor):
        @staticmethod
        def __new__(cls, shape):
            return pytorch.Tensor._make_wrapper_subclass(cls, shape)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise AssertionError(f"{func} ran")

    loud = pytorch.ones(2).as_subclass(Loud)
    assert introspect.tensor_facts(loud).kind == "Loud" and "1." in viz.tensor_card(loud).plain
    assert "whose operators are its own" in viz.tensor_card(Wrapper((2, 3))).plain


def test_hooks_that_pack_saved_tensors_are_not_run():
    graph = introspect.graph_facts(packed(pytorch)["y"])
    assert [saved.text for saved in graph.nodes[0].saved if saved.is_tensor] == ["packed by a hook"]


@pytest.mark.parametrize("shape", [(10_000_000,), (2500, 4000), (10, 1000, 1000)])
def test_the_card_of_a_large_tensor_is_small(shape):
    assert len(viz.tensor_card(pytorch.rand(shape))) <= 64 * 1024


def test_a_storage_has_one_number_for_as_long_as_it_lives_and_no_other_gets_it():
    x = pytorch.ones(4)
    view, number = x[1:], introspect.storage_number(x)
    del x
    assert introspect.storage_number(view) == number
    del view
    assert all(introspect.storage_number(pytorch.ones(4)) != number for _ in range(20))


# -- the notebook ------------------------------------------------------------------------------------------------------


@pytest.fixture
def notebook(bare):
    """A notebook whose program imports PyTorch after the extension was loaded."""
    bare.run_line_magic("load_ext", "mindtorch")
    bare.run_cell("import torch")
    yield bare
    bare.run_line_magic("unload_ext", "mindtorch")


def shown(shell, expression):
    return shell.display_formatter.format(shell.ev(expression))[0]


DISPLAYED = {
    "torch.ones(2)": "mt-card", "torch.nn.Parameter(torch.ones(2))": "mt-card", "torch.nn.Linear(2, 2)": "mt-module",
    "torch.optim.SGD([torch.ones(2)])": "mt-container", "[torch.ones(2)]": "mt-container",
    "torch.ones(2, 2).max(0)": "mt-container", "torch.nn.Linear(2, 2).state_dict()": "mt-container",
    "torch.ones(2, requires_grad=True).exp().grad_fn": "mt-graph-page", "torch.Generator()": "mt-container",
    "torch.ones(2).untyped_storage()": "mt-container",
    "torch.utils.data.DataLoader([1, 2])": "mt-container",
}


@pytest.mark.parametrize("expression", DISPLAYED)
def test_pytorchs_objects_are_displayed_until_the_extension_is_unloaded(notebook, expression):
    html = shown(notebook, expression)["text/html"]
    assert DISPLAYED[expression] in html
    notebook.run_line_magic("reload_ext", "mindtorch")
    assert DISPLAYED[expression] in shown(notebook, expression)["text/html"]
    notebook.run_line_magic("unload_ext", "mindtorch")
    assert "text/html" not in shown(notebook, expression)
    notebook.run_line_magic("load_ext", "mindtorch")


def test_both_libraries_stand_in_one_table(notebook):
    notebook.run_cell("import mindtorch\nours, theirs = mindtorch.ones(2), torch.zeros(99999)\nview = theirs[1:]")
    lines = notebook.run_line_magic("tensors", "").text.splitlines()
    assert lines[0].startswith("3 tensors over 2 storages")
    assert [re.search(r"(\w+) +float32", line)[1] for line in lines[2:]] == ["ours", "theirs", "view"]
    # among the storages of other tests, the largest are listed
    assert "theirs, view" in notebook.run_line_magic("memory", "--device cpu").text


def test_the_text_is_pytorchs(notebook):
    assert shown(notebook, "torch.ones(2)")["text/plain"] == "tensor([1., 1.])"


def test_magics_take_pytorchs_tensors(notebook):
    notebook.run_cell("w = torch.ones(2, requires_grad=True)\nloss = (w * w).sum()\nview = w.detach()[1:]")
    assert "MulBackward0" in notebook.run_line_magic("graph", "loss").text
    assert "view" in notebook.run_line_magic("storage", "w").text


def test_the_operators_of_a_cell_are_shown_with_what_asked_for_them(notebook):
    notebook.run_cell("w = torch.ones(4, 2, requires_grad=True)\nx = torch.ones(3, 4)")
    space = notebook.user_ns
    with introspect.watch_dispatch() as trace:
        loss = (space["x"] @ space["w"]).relu().sum()
        loss.backward()
    found = [(event.op, event.path[-1], trace.asked[event.sequence].node) for event in trace if event.op != "detach"]
    assert found == [
        ("mm", "CPU", ""), ("relu", "CPU", ""), ("sum", "CPU", ""), ("ones_like", "CPU", ""),
        ("expand", "CPU", "SumBackward0"), ("threshold_backward", "CPU", "ReluBackward0"), ("t", "CPU", "MmBackward0"),
        ("mm", "CPU", "MmBackward0")]
    product = trace.events[0]
    assert product.path == ("AutogradCPU", "CPU") and product.line and product.file.endswith(".cpp")
    assert product.site[0] == __file__
    assert [str(meta) for meta in product.outputs] == ["float32[3, 2]"]


def test_an_operator_that_fails_is_shown_with_its_error(notebook):
    with pytest.raises(RuntimeError), introspect.watch_dispatch() as trace:
        pytorch.ones(2, 3) @ pytorch.ones(2, 3)
    assert trace.events[-1].op == "mm" and trace.events[-1].error.startswith("RuntimeError: mat1 and mat2")


def test_profiles_and_timelines_have_pytorchs_operators(notebook):
    model, x = pytorch.nn.Linear(2, 2), pytorch.ones(1, 2)
    with introspect.profile({"model": model}) as profile:
        model(x).sum().backward()
    assert {"model (Linear)", "(backward)"} <= {share.name for share in profile.modules}
    with introspect.timeline() as timeline:
        model(x)
    assert [span.name for span in timeline.spans] == ["t", "addmm"]


def test_widgets_take_pytorchs_tensors(notebook):
    from mindtorch import widgets

    explorer = widgets.stride_explorer(pytorch.arange(6.0).view(2, 3).t())
    assert explorer.facts.positions == (0, 3, 1, 4, 2, 5)
    explorer.set((2, 9), (3, 1))
    assert "out of bounds" in explorer.facts.error
    with pytest.raises(TypeError, match="%graph shows"):
        widgets.backward_stepper(pytorch.ones(2, requires_grad=True).sum())
    monitor = widgets.TrainingMonitor()
    model = pytorch.nn.Linear(2, 2)
    model(pytorch.ones(1, 2)).sum().backward()
    monitor.record(1, loss=pytorch.tensor(2.0), grad_norms=model)
    assert [series.name for series in monitor.facts.norms] == ["weight", "bias"]


def test_a_segment_of_cudas_allocator_has_the_states_of_an_npus():
    """There is no GPU here: what is described is a snapshot as ``torch.cuda.memory_snapshot()`` gives it."""
    blocks = [{"size": size, "requested_size": size - 12, "state": state} for size, state in (
        (512, "active_allocated"), (1024, "active_allocated"), (512, "active_pending_free"), (2048, "inactive"))]
    held = StorageUse("cuda:0", 0x1000, 500, 1, ("x",), 3)
    facts = cuda_segment({"device": 0, "address": 0x1000, "total_size": 4096, "stream": 7, "blocks": blocks}, "cuda:0",
                         [held])
    assert [(block.address - 0x1000, block.bytes, block.requested, block.state, block.storages) for block in
            facts.blocks] == [(0, 512, 500, "in use", (held,)), (512, 1024, 1012, "workspace", ()),
                              (1536, 512, 0, "waiting", ()), (2048, 2048, 0, "free", ())]
    assert (facts.bytes, facts.blocks[0].stream) == (4096, "cuda:0 stream 7")


def test_the_glossary_has_three_names_for_each_thing(notebook):
    assert all(all(vars(term).values()) for term in introspect.GLOSSARY) and len(introspect.GLOSSARY) > 20
    text = notebook.run_line_magic("glossary", "record_stream").text
    assert "deferred free" in text and len(text.splitlines()) == 3
    assert "no entry" in notebook.run_line_magic("glossary", "zebra").text
