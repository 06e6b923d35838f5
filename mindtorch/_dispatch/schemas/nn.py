"""Losses. ``reduction``: 0 none, 1 mean, 2 sum."""

SCHEMAS = """
operator only:
    mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor  # The squared differences of `self` and `target`, or by `reduction` their mean or sum.
    l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor  # The absolute differences of `self` and `target`, or by `reduction` their mean or sum.
    smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor  # The absolute differences of `self` and `target` less half of `beta`, or below `beta` their squares over twice `beta`, or by `reduction` their mean or sum.
    huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor  # The squared differences of `self` and `target`, halved, and beyond `delta` growing in proportion to the difference only, or by `reduction` their mean or sum.
    soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor  # The logarithms of 1 + exp(-`target` `self`), for targets of 1 and -1, or by `reduction` their mean or sum.
    binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor  # The negative logarithms of the probabilities `self` for the part `target` and of their complements for the rest, times `weight`, or by `reduction` their mean or sum.
    multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor  # For each row of `self`, the mean of how much each other element comes within `margin` of the one of the class `target`, to the power `p`, or by `reduction` their mean or sum.
    multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor
    multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)  # The multi-label margin loss of `self` and `target`, and which elements are targets.
    multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor
    multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor  # For each row of `self`, how much the elements that are no `target` come within 1 of those that are, over the number of elements, or by `reduction` their mean or sum.
    nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight)  # The negative log likelihood loss of `self` and `target`, and the sum of the weights.
    nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight) -> Tensor
    nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) -> (Tensor output, Tensor total_weight)  # The negative log likelihood loss of the images `self` and `target`, and the sum of the weights.
    nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, Tensor total_weight) -> Tensor
    nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor  # The negatives of the log probabilities `self` of the classes `target`, times the `weight` of the class, or by `reduction` their mean or sum, without targets of `ignore_index`.
    nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor  # The negatives of the log probabilities `self` of the classes `target` at each pixel, times the `weight` of the class, or by `reduction` their mean or sum, without targets of `ignore_index`.
    nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100) -> Tensor  # The loss that `nll_loss` computes, for `self` and `target` with any number of dimensions after the classes.
    cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float label_smoothing=0.0) -> Tensor  # The negative log likelihood of `target`, classes or their probabilities, under the softmax of `self`, or by `reduction` its mean or sum, without targets of `ignore_index`.
operator only, explicit:
    mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
    smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor
    huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor
    soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
    binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor
function:
    binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor  # The binary cross entropy of the sigmoid of `self` and `target`, computed without overflow, with positive targets multiplied by `pos_weight`, or by `reduction` its mean or sum.
    kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor  # The Kullback-Leibler divergence `target` (log `target` - `self`) by element, where `self` holds logarithms, and with `log_target` the target does too, or by `reduction` its mean or sum.
    poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor  # The negative log likelihood of `target` under Poisson distributions with the rates `input`, or with `log_input` their exponentials, or by `reduction` its mean or sum.
    hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> Tensor  # The elements of `self` where `target` is 1, and where it is -1 how much they fall short of `margin`, or by `reduction` their mean or sum.
    margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor  # How much `input1`, where `target` is 1, fails to exceed `input2` by `margin`, or the other way round where it is -1, or by `reduction` its mean or sum.
    cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor  # One minus the cosine similarity of `input1` and `input2` where `target` is 1, and how much the similarity exceeds `margin` where it is -1, or by `reduction` its mean or sum.
    triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool swap=False, int reduction=1) -> Tensor  # How much the distance of `anchor` from `positive`, plus `margin`, exceeds that from `negative`, or by `reduction` its mean or sum.
"""
