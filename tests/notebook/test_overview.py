"""Large tensors in small: block means, histograms, pictures."""
from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

import mindtorch as torch
from mindtorch import introspect, viz
from mindtorch.introspect.overview import PICTURES, PIXELS


def statistics(tensor):
    return introspect.tensor_facts(tensor).statistics


@pytest.mark.parametrize("shape", [(96, 128), (480, 640), (100, 100), (1000, 3), (3, 1000), (5, 7), (2, 96, 128)])
def test_block_means_are_those_of_the_blocks(shape):
    rows = torch.arange(float(shape[-2])).view(-1, 1)
    found = introspect.tensor_overview(rows + torch.zeros(shape))
    height, width = found.means.shape
    assert height <= 48 and width <= 64
    middles = (np.arange(height) + 0.5) * shape[-2] / height - 0.5
    np.testing.assert_allclose(found.means[:, 0], middles, atol=1)
    np.testing.assert_allclose(found.means, np.broadcast_to(found.means[:, :1], found.means.shape))


def test_blocks_of_a_square_are_square_and_those_of_a_slim_matrix_keep_the_short_side():
    assert introspect.tensor_overview(torch.zeros(640, 640)).means.shape == (48, 48)
    assert introspect.tensor_overview(torch.zeros(2000, 10)).means.shape == (48, 10)


def test_a_nan_is_seen_in_its_block_only():
    x = torch.zeros(10, 10)
    x[3, 4] = float("nan")
    assert np.argwhere(np.isnan(introspect.tensor_overview(x).means)).tolist() == [[3, 4]]


def test_nothing_is_waited_for():
    with torch.pipeline():
        assert introspect.tensor_overview(torch.ones(20, 20) + 1) is None
    assert introspect.tensor_overview(torch.ones(20, 20, device="meta")) is None


@pytest.mark.parametrize(("values", "expected"), [
    ([0, 0, 0, 39, 39], {0: 3, 39: 2}), ([0.0, 40.0, 20.0], {0: 1, 39: 1, 20: 1}),
    ([-1e308, 1e308], {0: 1, 39: 1}), ([0.0, float("nan"), 40.0, float("inf")], {0: 1, 39: 1}),
    ([5.0, 5.0], {}), ([True, False], {}), ([3e-300, 6e-300], {0: 1, 39: 1}),
])
def test_a_histogram_counts_the_finite_elements(values, expected):
    found = statistics(torch.tensor(values, dtype=torch.float64 if type(values[0]) is float else None)).histogram
    assert {i: count for i, count in enumerate(found) if count} == expected


@pytest.mark.parametrize(("shape", "layout"), [
    ((8, 8), "HW"), ((28, 28), "HW"), ((3, 32, 40), "CHW"), ((32, 40, 3), "HWC"), ((5, 1, 8, 9), "NCHW"),
    ((5, 8, 9, 4), "NHWC"), ((7, 8), ""), ((2, 32, 32), ""), ((64,), ""), ((0, 3, 8, 8), ""), ((1, 1, 1, 8, 8), ""),
])
def test_shapes_of_pictures(shape, layout):
    assert introspect.picture_layout(shape) == layout


def test_pictures_have_the_tensors_pixels():
    x = torch.randint(0, 256, (3, 10, 12), dtype=torch.uint8)
    picture, = introspect.pictures(x, statistics(x))
    np.testing.assert_array_equal(picture, x.permute(1, 2, 0).numpy())
    gray = torch.linspace(0, 1, 64).view(8, 8)
    picture, = introspect.pictures(gray, statistics(gray))
    np.testing.assert_array_equal(picture[..., 0], (gray.numpy() * 255.0).astype(np.uint8))
    many = introspect.pictures(torch.zeros(100, 1, 50, 50), statistics(torch.zeros(2)))
    assert len(many) == PICTURES and sum(len(p) * len(p[0]) for p in many) <= PIXELS


def test_the_card_holds_the_pictures_behind_a_switch_and_numbers_stay():
    x = torch.randint(0, 256, (10, 12), dtype=torch.uint8)
    card = viz.tensor_card(x, {id(x): "scan"})
    before, after = card.split("<summary>as a picture</summary>")
    assert before.endswith("<details>") and 'class="mt-grid"' in before
    data, = re.findall(r'src="data:image/png;base64,([^"]+)" alt="picture 0 of scan: 10 by 12 pixels', after)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))), x.numpy())


def test_small_tensors_have_no_overview():
    assert 'class="mt-overview"' not in viz.tensor_card(torch.zeros(4, 4))


def test_a_heat_map_says_what_its_colours_mean_and_where_it_is_strongest():
    x = torch.zeros(20, 30)
    x[7, 9], x[3, 4] = -8, 2
    said = "orange is positive, blue is negative, full colour is ±8"
    card = viz.tensor_card(x)
    assert f"{said}; strongest near [7, 9], -8" in card and f"{said}</figcaption>" in card
    assert "blue is negative" not in viz.tensor_card(x.abs()) and "all are zero" in viz.tensor_card(torch.zeros(20, 20))
