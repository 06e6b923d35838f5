"""A sharded model and its optimizer, written by some ranks and read by others."""
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from reporting import report
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

action, folder = sys.argv[1:]
dist.init_process_group("gloo")


def trained(steps):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 7), nn.Tanh(), nn.Linear(7, 2))
    for layer in (net[0], net[2], net):
        fully_shard(layer)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.ones(4, 3)).square().sum().backward()
        optimizer.step()
    return net, optimizer


def whole(net, optimizer):
    return get_state_dict(net, optimizer, options=StateDictOptions(full_state_dict=True))


def check_a_checkpoint_of_any_number_of_ranks():
    net, optimizer = trained(3)
    expected = whole(net, optimizer)
    if action == "save":
        model_state, optimizer_state = get_state_dict(net, optimizer)
        dcp.save({"model": model_state, "optimizer": optimizer_state, "step": 3}, checkpoint_id=folder)
        future = dcp.async_save({"model": model_state}, checkpoint_id=f"{folder}-async")
        with torch.no_grad():
            net[0].weight.zero_()  # what is saved is a copy
        future.result()
        return
    net, optimizer = trained(0)
    model_state, optimizer_state = get_state_dict(net, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state, "step": 0}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(net, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    assert state["step"] == 3
    torch.testing.assert_close(whole(net, optimizer)[0], expected[0])
    torch.testing.assert_close(whole(net, optimizer)[1]["state"], expected[1]["state"])
    other = {"model": trained(0)[0].state_dict()}
    dcp.load(other, checkpoint_id=f"{folder}-async")
    for name, value in other["model"].items():
        torch.testing.assert_close(value.full_tensor(), expected[0][name])


def check_a_missing_key_is_an_error_in_all_ranks():
    try:
        dcp.load({"other": torch.zeros(1)}, checkpoint_id=folder)
    except dcp.CheckpointException as error:
        assert len(error.failures) == dist.get_world_size() and "Missing key in checkpoint state_dict" in str(error)
    else:
        raise AssertionError("no error")


report(globals())
