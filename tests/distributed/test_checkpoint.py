"""Checkpoints: of any number of ranks, in PyTorch's format, and whole whatever happens."""
from __future__ import annotations

import pytest

import mindtorch as torch
import mindtorch.distributed.checkpoint as dcp
from mindtorch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing
from mindtorch.distributed.checkpoint import format_utils, state_dict

from .running import launch, needs_mpi, results


def state(library, factor: int) -> dict:
    return {"a": library.arange(6.0).view(2, 3) * factor, "text": "x" * factor,
            "nested": {"n": 3 * factor, "list": [library.ones(2, dtype=library.bfloat16) * factor, 5]}}


@needs_mpi
def test_four_ranks_write_and_two_read(tmp_path) -> None:
    for action, ranks in (("save", 4), ("load", 2)):
        for check, errors in results(launch("checkpoints.py", ranks, [action, str(tmp_path / "c")]), ranks).items():
            assert errors == [None] * ranks, f"{check}\n" + "\n".join(filter(None, errors))


@pytest.mark.filterwarnings("ignore")
def test_files_are_pytorch_s_both_ways(tmp_path) -> None:
    pytorch = pytest.importorskip("torch", reason="PyTorch, the reference of these tests, is not installed")
    import torch.distributed.checkpoint as theirs

    for writer, reader, library, other in ((dcp, theirs, torch, pytorch), (theirs, dcp, pytorch, torch)):
        folder = tmp_path / writer.__name__
        writer.save(state(library, 2), checkpoint_id=folder)
        found = state(other, 0)
        reader.load(found, checkpoint_id=folder)
        assert str(found) == str(state(other, 2))


def test_a_checkpoint_as_one_file_and_back(tmp_path) -> None:
    dcp.save(state(torch, 2), checkpoint_id=tmp_path / "parts")
    format_utils.dcp_to_torch_save(tmp_path / "parts", tmp_path / "one.pt")
    assert str(torch.load(tmp_path / "one.pt")) == str(state(torch, 2))
    format_utils.torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "again")
    found = state(torch, 0)
    dcp.load(found, checkpoint_id=tmp_path / "again")
    assert str(found) == str(state(torch, 2))


class Killed(dcp.DefaultSavePlanner):
    """A planner whose process ends before it has written all."""

    def resolve_data(self, write_item):
        if write_item.index.fqn == "text":
            raise KeyboardInterrupt
        return super().resolve_data(write_item)


def test_who_is_killed_while_writing_leaves_the_last_whole_checkpoint(tmp_path) -> None:
    dcp.save(state(torch, 2), checkpoint_id=tmp_path)
    with pytest.raises(dcp.CheckpointException, match="KeyboardInterrupt"):
        dcp.save(state(torch, 3), checkpoint_id=tmp_path, planner=Killed())
    found = state(torch, 0)
    dcp.load(found, checkpoint_id=tmp_path)
    assert str(found) == str(state(torch, 2))
    dcp.save(state(torch, 4), checkpoint_id=tmp_path)
    dcp.load(found, checkpoint_id=tmp_path)
    assert str(found) == str(state(torch, 4)) and len(list(tmp_path.glob("*.distcp"))) == 1


def test_metadata_that_runs_something_is_refused(tmp_path) -> None:
    (tmp_path / ".metadata").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(dcp.CheckpointException, match=r"refers to os\.system"):
        dcp.load({"a": torch.zeros(1)}, checkpoint_id=tmp_path)


def test_an_object_with_a_state_is_given_what_was_read(tmp_path) -> None:
    net, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    dcp.save({"net": net}, checkpoint_id=tmp_path)
    dcp.load({"net": other}, checkpoint_id=tmp_path)
    assert torch.equal(net.weight, other.weight)


def test_states_have_the_names_of_a_model_without_wrappers() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()))
    names = list(state_dict.get_model_state_dict(model))
    apply_activation_checkpointing(model)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert list(state_dict.get_model_state_dict(torch.compile(model))) == names
    found = state_dict.get_optimizer_state_dict(model, optimizer)
    assert list(found["state"]) == names == found["param_groups"][0]["params"]
    zeros = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    assert not any(state_dict.set_model_state_dict(model, zeros))
    assert not any(parameter.any() for parameter in model.parameters())
    with pytest.warns(FutureWarning, match="submodules only"):
        part = state_dict.get_model_state_dict(model, submodules={model[1]})
    assert list(part) == names[2:]
    with torch.device("meta"):
        bare = torch.nn.Linear(2, 2)
    state_dict.set_model_state_dict(bare, {"weight": torch.ones(2, 2), "bias": torch.ones(2)})
    assert bare.weight.tolist() == [[1, 1], [1, 1]]


def test_an_optimizer_whose_parameters_have_gradients_is_given_its_state() -> None:
    model = torch.nn.Linear(2, 2)
    one, other = (torch.optim.Adam(model.parameters()) for _ in range(2))
    plain = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    one.step()
    state_dict.set_optimizer_state_dict(model, other, state_dict.get_optimizer_state_dict(model, one))
    assert str(other.state_dict()) == str(one.state_dict())
    assert state_dict.get_optimizer_state_dict(model, plain)["state"] == {}
