"""What only PyTorch has: tensors that are no piece of memory, classes with operators of their own, CUDA's allocator."""
from __future__ import annotations

import pytest

from mindtorch import introspect, viz
from mindtorch.introspect.memory import StorageUse, cuda_segment

from .programs import packed

pytorch = pytest.importorskip("torch")


def fake():
    with pytorch._subclasses.fake_tensor.FakeTensorMode():
        return pytorch.ones(3, 4)


def nested(**options):
    return pytorch.nested.nested_tensor([pytorch.ones(2, 3), pytorch.ones(1, 3)], **options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("make", "said"), [
    (lambda: pytorch.eye(3).to_sparse(), "3 of 9 stored (0.333 of all) · coalesced"),
    (lambda: pytorch.eye(3).to_sparse_csr(), "crow_indices() [4]"),
    (lambda: pytorch.eye(3).to_sparse_csc(), "ccol_indices() [4]"),
    (lambda: pytorch.eye(4).to_sparse_bsr((2, 2)), "values() [2, 2, 2]"),
    (lambda: pytorch.ones(2).to_mkldnn(), "its operators only"),
    (lambda: nested(), "nested: 2 tensors one after the other, of shapes [2, 3], [1, 3]"),
    (lambda: nested(layout=pytorch.jagged), "2 parts of 1 to 2 along dimension 1"),
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
