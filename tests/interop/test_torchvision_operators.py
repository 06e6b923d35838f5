"""Operators that torchvision has in C++ are defined in tensors, and agree with loops that say what they mean."""
from __future__ import annotations

import math

import pytest

import mindtorch as torch
from mindtorch._run import torchvision


@pytest.fixture(scope="module")
def ops():
    torchvision.define()
    return torch.ops.torchvision


def pixel(image, y: float, x: float) -> float:
    """Interpolate linearly, as RoIAlign does: zero more than a pixel outside."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    ly, lx = y - top, x - left
    return float((1 - ly) * ((1 - lx) * image[top, left] + lx * image[top, right])
                 + ly * ((1 - lx) * image[bottom, left] + lx * image[bottom, right]))


IMAGE = torch.arange(2 * 4 * 5 * 6.).reshape(2, 4, 5, 6).sin()
ROIS = torch.tensor([[0, 0., 0., 4., 3.], [1, 1.3, .7, 5.2, 4.1], [0, 2., 2., 2., 2.], [1, -3., -3., 9., 9.]])


@pytest.mark.parametrize(("samples", "aligned"), [(2, False), (2, True), (-1, True)])
def test_roi_align_is_the_mean_of_interpolations(ops, samples, aligned) -> None:
    found = ops.roi_align(IMAGE, ROIS, .9, 2, 3, samples, aligned)
    for k, (image, *corners) in enumerate(ROIS.tolist()):
        left, top, right, bottom = (corner * .9 - .5 * aligned for corner in corners)
        tall, wide = (bottom - top, right - left) if aligned else (max(bottom - top, 1.), max(right - left, 1.))
        down, across = (samples, samples) if samples > 0 else (math.ceil(tall / 2), math.ceil(wide / 3))
        for i in range(2):
            for j in range(3):
                values = [pixel(IMAGE[int(image), 1], top + (i + (a + .5) / down) * tall / 2,
                                left + (j + (b + .5) / across) * wide / 3) for a in range(down) for b in range(across)]
                assert found[k, 1, i, j].item() == pytest.approx(sum(values) / max(len(values), 1), abs=1e-5)


def test_roi_pool_takes_the_largest_pixel_of_a_bin(ops) -> None:
    found, best = ops.roi_pool(IMAGE, ROIS[:2], 1., 2, 2)
    assert found[0, 0, 0, 0] == IMAGE[0, 0, :2, :3].max() and found[0, 0, 1, 1] == IMAGE[0, 0, 2:4, 2:5].max()
    assert (IMAGE[0].flatten(1).gather(1, best[0].flatten(1).long()) == found[0].flatten(1)).all()
    assert ops.roi_pool(IMAGE, torch.tensor([[0, 20., 20., 30., 30.]]), 1., 1, 1)[1].unique().tolist() == [-1]


def test_position_sensitive_pools_take_a_channel_for_each_bin(ops) -> None:
    whole = torch.tensor([[1, 0., 0., 6., 4.]])
    found, channels = ops.ps_roi_pool(IMAGE, whole, 1., 2, 2)
    assert found.flatten().tolist() == pytest.approx([
        IMAGE[1, 0, :2, :3].mean().item(), IMAGE[1, 1, :2, 3:].mean().item(),
        IMAGE[1, 2, 2:4, :3].mean().item(), IMAGE[1, 3, 2:4, 3:].mean().item()], abs=1e-6)
    assert channels.flatten().tolist() == [0, 1, 2, 3]
    aligned, _ = ops.ps_roi_align(IMAGE, whole, 1., 2, 2, 2)
    full = ops.roi_align(IMAGE, whole, 1., 2, 2, 2, True)
    assert aligned.flatten().allclose(torch.stack([full[0, c, c // 2, c % 2] for c in range(4)]), atol=1e-6)


def test_nms_keeps_the_best_of_boxes_that_overlap(ops) -> None:
    boxes = torch.tensor([[0., 0., 10., 10.], [1., 1., 11., 11.], [20., 20., 30., 30.], [0., 0., 10., 9.]])
    scores = torch.tensor([.5, .9, .7, .6])
    assert ops.nms(boxes, scores, .5).tolist() == [1, 2] and ops.nms(boxes, scores, .75).tolist() == [1, 2, 3]
    assert ops.nms(boxes[:0], scores[:0], .5).tolist() == []


def test_deform_conv2d_without_offsets_is_a_convolution(ops) -> None:
    weight, bias = torch.randn(6, 2, 3, 3), torch.randn(6)
    offset, mask = torch.zeros(2, 2 * 2 * 9, 3, 3), torch.ones(2, 2 * 9, 3, 3)
    found = ops.deform_conv2d(IMAGE, weight, offset, mask, bias, 2, 2, 1, 1, 1, 1, 2, 2, True)
    torch.testing.assert_close(found, torch.nn.functional.conv2d(IMAGE, weight, bias, 2, 1, groups=2))
    moved = offset.clone()
    moved[:, 1::2] = 1.  # each position one pixel to the right
    inside = torch.nn.functional.conv2d(torch.nn.functional.pad(IMAGE, (0, 1))[..., 1:], weight, bias, 2, 1, groups=2)
    found = ops.deform_conv2d(IMAGE, weight, moved, mask, bias, 2, 2, 1, 1, 1, 1, 2, 2, True)
    torch.testing.assert_close(found[..., 1:], inside[..., 1:])


def test_gradients_are_those_of_differences(ops) -> None:
    image, rois = IMAGE.double(), ROIS[:2].double()
    step = torch.randn(image.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for forward, backward, settings, extra in (
            (ops.roi_align, ops._roi_align_backward, (.9, 2, 2), (2, True)),
            (ops.roi_pool, ops._roi_pool_backward, (1., 2, 2), ()),
            (ops.ps_roi_align, ops._ps_roi_align_backward, (.9, 2, 2), (2,)),
            (ops.ps_roi_pool, ops._ps_roi_pool_backward, (.9, 2, 2), ())):
        def call(x, forward=forward, settings=settings, extra=extra):
            found = forward(x, rois, *settings, *extra)
            return found if isinstance(found, tuple | list) else (found,)

        outputs = call(image)
        seed = torch.ones_like(outputs[0])
        size = tuple(image.shape)
        behind = (*size, *extra) if forward is ops.roi_align else (*extra, *size)
        gradient = backward(seed, rois, *outputs[1:], *settings, *behind)
        expected = (call(image + 1e-6 * step)[0] - call(image - 1e-6 * step)[0]).sum() / 2e-6
        assert (gradient * step).sum().item() == pytest.approx(expected.item(), abs=1e-4)
    weight, bias = torch.randn(2, 4, 2, 2, dtype=torch.float64), torch.randn(2, dtype=torch.float64)
    offset, mask = torch.rand(2, 8, 4, 5, dtype=torch.float64) * .8 + .1, torch.rand(2, 4, 4, 5, dtype=torch.float64)
    inputs = [image, weight, offset, mask, bias]
    settings = (1, 1, 0, 0, 1, 1, 1, 1, True)
    gradients = ops._deform_conv2d_backward(torch.ones(2, 2, 4, 5, dtype=torch.float64), *inputs, *settings)
    for i, gradient in enumerate(gradients):
        step = torch.randn(inputs[i].shape, dtype=torch.float64)
        ends = [ops.deform_conv2d(*inputs[:i], inputs[i] + sign * 1e-6 * step, *inputs[i + 1:], *settings).sum()
                for sign in (1, -1)]
        assert (gradient * step).sum().item() == pytest.approx(((ends[0] - ends[1]) / 2e-6).item(), abs=1e-4)


def test_other_libraries_cannot_be_loaded() -> None:
    with pytest.raises(OSError, match="no operators in C\\+\\+"):
        torch.ops.load_library("somewhere/_C.so")
