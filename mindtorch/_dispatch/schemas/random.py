"""Random numbers: what a tensor is filled with in place, what is drawn for the elements of another, and dropout."""

from .creation import OPTIONS

SCHEMAS = f"""
method:
    uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers drawn uniformly from `from` up to, but without, `to`.
    normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers drawn from the normal distribution of mean `mean` and standard deviation `std`.
    random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with integers drawn uniformly from `from` up to, but without, `to`.
    random_.to(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)
    random_(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
    bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with ones, drawn with probability `p`, and zeros.
    bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)
    exponential_(Tensor(a!) self, float lambd=1, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers drawn from the exponential distribution of rate `lambd`.
    geometric_(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with how many trials, each of success probability `p`, it takes to the first success.
    cauchy_(Tensor(a!) self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers drawn from the Cauchy distribution of median `median` and half-width `sigma`.
    log_normal_(Tensor(a!) self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor(a!)  # Fills `self` with numbers whose logarithms are drawn from the normal distribution of mean `mean` and standard deviation `std`.
function, method, out:
    bernoulli(Tensor self, *, Generator? generator=None) -> Tensor  # Ones, each drawn with the probability that `self` has there, and zeros.
function, method:
    bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
function, method, out, exact dtype, no overlap:
    multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor  # `num_samples` positions in each row of `self`, drawn with probabilities in proportion to its elements, more than once only with `replacement`.
function, out:
    normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor  # Numbers drawn from the normal distributions of means `mean` and standard deviations `std`.
    normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor
    normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor
function:
    poisson(Tensor self, Generator? generator=None) -> Tensor  # Numbers drawn from the Poisson distributions whose rates are the elements of `self`.
    binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor  # How many of `count` trials, each of success probability `prob`, succeed.
    _standard_gamma(Tensor self, Generator? generator=None) -> Tensor  # Numbers drawn from the gamma distributions of rate 1 whose shape parameters are the elements of `self`.
    _sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor  # Points drawn from the Dirichlet distributions whose concentrations lie along the last dimension of `self`.
    native_dropout(Tensor input, float p, bool? train) -> (Tensor result0, Tensor result1)  # `input` with elements zeroed with probability `p` and the others divided by 1 - `p`, unless `train` is False, and the mask of those kept.
    dropout(Tensor input, float p, bool train) -> Tensor  # `input` with elements zeroed with probability `p` and the others divided by 1 - `p`, if `train`.
    dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)  # Zeroes elements of `self` with probability `p` and divides the others by 1 - `p`, if `train`.
    feature_dropout(Tensor input, float p, bool train) -> Tensor  # `input` with whole channels zeroed with probability `p` and the others divided by 1 - `p`, if `train`.
    feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)  # Zeroes whole channels of `self` with probability `p` and divides the others by 1 - `p`, if `train`.
    alpha_dropout(Tensor input, float p, bool train) -> Tensor  # `input` with elements set to the negative limit of `selu` with probability `p`, then scaled and shifted to keep mean and variance, if `train`.
    alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)  # Sets elements of `self` to the negative limit of `selu` with probability `p`, then scales and shifts it to keep mean and variance, if `train`.
    feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor  # `input` with whole channels set to the negative limit of `selu` with probability `p`, then scaled and shifted to keep mean and variance, if `train`.
    feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)  # Sets whole channels of `self` to the negative limit of `selu` with probability `p`, then scales and shifts it to keep mean and variance, if `train`.
operator only, explicit:
    randperm(int n, *, {OPTIONS}) -> Tensor  # The integers from 0 up to, but without, `n` in random order.
    rand(int[] size, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` with numbers drawn uniformly from 0 up to, but without, 1.
    rand.generator(int[] size, *, Generator? generator, {OPTIONS}) -> Tensor
    randn(int[] size, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` with numbers drawn from the normal distribution of mean 0 and standard deviation 1.
    randn.generator(int[] size, *, Generator? generator, {OPTIONS}) -> Tensor
    randint(int high, int[] size, *, {OPTIONS}) -> Tensor  # A tensor of shape `size` with integers drawn uniformly from `low`, which is 0 unless given, up to, but without, `high`.
    randint.generator(int high, int[] size, *, Generator? generator, {OPTIONS}) -> Tensor
    randint.low(int low, int high, int[] size, *, {OPTIONS}) -> Tensor
    randint.low_generator(int low, int high, int[] size, *, Generator? generator, {OPTIONS}) -> Tensor
    normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, {OPTIONS}) -> Tensor
    rand_like(Tensor self, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self`, with numbers drawn uniformly from 0 up to, but without, 1.
    rand_like.generator(Tensor self, *, Generator? generator, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor
    randn_like(Tensor self, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self`, with numbers drawn from the normal distribution of mean 0 and standard deviation 1.
    randn_like.generator(Tensor self, *, Generator? generator, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor
    randint_like(Tensor self, int high, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor  # A tensor with the shape, dtype and device of `self`, with integers drawn uniformly from `low`, which is 0 unless given, up to, but without, `high`.
    randint_like.generator(Tensor self, int high, *, Generator? generator, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor
    randint_like.low_dtype(Tensor self, int low, int high, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor
    randint_like.low_generator_dtype(Tensor self, int low, int high, *, Generator? generator, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor
operator only:
    native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor  # The gradient of `native_dropout`: `grad_output` times `mask` and `scale`.
    randperm.generator(int n, *, Generator? generator, {OPTIONS}) -> Tensor
"""
