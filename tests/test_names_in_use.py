"""The names of PyTorch that courses, books and public examples use are here, and are of PyTorch's kind."""
from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

import mindtorch
from mindtorch._base.left_out import reason
from tests.support import torch

# What nine public bodies of teaching code use, by module; a name that has parts stands for those, too.
NAMES = """
torch: FloatTensor Generator LongTensor Size Tensor __version__ abs acos add all allclose arange arccos arcsin
    arctan argmax argsort as_tensor bfloat16 bincount bitwise_and bmm bool broadcast_to cat chunk clamp cos cosh
    cumsum det device diag dot double einsum empty equal exp eye finfo flatten float float16 float32 float64 floor
    from_numpy full gather get_default_dtype histogram inf inference_mode int16 int32 int64 int8 is_grad_enabled
    isfinite isnan linspace load log log1p log2 log_softmax long lt manual_seed matmul max mean meshgrid min mm
    multinomial mv neg no_grad nonzero norm normal ones ones_like outer pi polar pow rand randint randn randn_like
    randperm relu repeat_interleave roll rsqrt save set_float32_matmul_precision set_grad_enabled set_printoptions
    short sigmoid sign sin sinh softmax sort sqrt square squeeze stack std sum tan tanh tensor topk transpose tril
    triu uint8 unique unsqueeze var view_as_complex view_as_real where zeros zeros_like
torch.Tensor: abs add all any argmax backward bfloat16 bool clamp clip clone contiguous copy_ cpu cumsum data
    data_ptr detach dim dot double element_size eq exp expand fill_ flatten float index_add_ index_select int item
    log log10 long masked_fill masked_fill_ max mean min mul nelement new_zeros nonzero norm numel numpy permute pow
    random_ repeat repeat_interleave requires_grad_ reshape retain_grad round scatter scatter_ size sort split
    squeeze std storage stride sum swapaxes t tanh to tolist trace transpose type type_as unique unsqueeze var view
    view_as zero_
torch.amp: GradScaler autocast
torch.autograd.profiler: profile record_function
torch.distributions.binomial: Binomial
torch.distributions.poisson: Poisson
torch.linalg: eig
torch.nn: AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool2d AvgPool2d BCELoss BCEWithLogitsLoss BatchNorm1d
    BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d ConvTranspose2d ConvTranspose3d CrossEntropyLoss Dropout Dropout2d
    Embedding EmbeddingBag Flatten GELU GRU GRUCell Hardtanh InstanceNorm2d L1Loss LSTM LSTMCell LayerNorm
    LazyBatchNorm1d LazyBatchNorm2d LazyConv2d LazyLinear LeakyReLU Linear LogSoftmax MSELoss MaxPool2d MaxPool3d
    Module ModuleDict ModuleList MultiheadAttention NLLLoss PReLU Parameter PixelShuffle RMSNorm RNN ReLU
    ReflectionPad2d Sequential Sigmoid Softmax Softplus Tanh Transformer Upsample
torch.nn.functional: affine_grid avg_pool2d binary_cross_entropy binary_cross_entropy_with_logits conv1d conv2d
    cross_entropy dropout elu gelu grid_sample interpolate layer_norm linear log_softmax logsigmoid max_pool2d
    nll_loss one_hot pad relu scaled_dot_product_attention sigmoid silu smooth_l1_loss softmax softplus tanh
torch.nn.init: _calculate_fan_in_and_fan_out constant_ kaiming_normal_ kaiming_uniform_ normal_ ones_ trunc_normal_
    uniform_ xavier_normal_ xavier_uniform_ zeros_
torch.nn.modules.activation: MultiheadAttention ReLU
torch.nn.modules.container: ModuleList
torch.nn.modules.conv: Conv2d
torch.nn.modules.dropout: Dropout
torch.nn.modules.linear: Linear NonDynamicallyQuantizableLinear
torch.nn.modules.normalization: LayerNorm
torch.nn.modules.pixelshuffle: PixelShuffle
torch.nn.modules.rnn: GRU LSTM RNN
torch.nn.modules.sparse: Embedding
torch.nn.modules.transformer: TransformerEncoder TransformerEncoderLayer
torch.nn.utils: clip_grad_norm_
torch.optim: Adadelta Adagrad Adam AdamW LBFGS Optimizer RMSprop SGD
torch.optim.lr_scheduler: StepLR
torch.serialization: safe_globals
torch.testing: assert_allclose assert_close
torch.utils.data: DataLoader Dataset RandomSampler TensorDataset
"""


def kind(value: Any) -> str:
    """Return the kind of a value, as a program uses it."""
    return "class" if isinstance(value, type) else "callable" if callable(value) else "value"


def found(lib: Any, name: str) -> Any:
    """Return the value that a program finds under a name; a name of `Tensor`, on a tensor."""
    parts = name.split(".")[1:]
    return getattr(lib.ones(1), parts[1]) if parts[0] == "Tensor" and parts[1:] else reduce(getattr, parts, lib)


@pytest.mark.parametrize("group", NAMES.strip().replace("\n    ", " ").splitlines(), ids=lambda it: it.split(":")[0])
def test_the_names_that_programs_use_are_here_or_are_left_out_with_a_reason(group) -> None:
    module, _, names = group.partition(": ")
    for name in (f"{module}.{last}" for last in names.split()):
        if reason(name.removeprefix("torch.")) is None:
            assert kind(found(mindtorch, name)) == kind(found(torch, name)), name
