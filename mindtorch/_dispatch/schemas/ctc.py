"""Connectionist temporal classification: the loss of a sequence of labels whose places in time are not known."""

SCHEMAS = """
function:
    ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor  # The negative log probabilities of the sequences `targets` under the log probabilities `log_probs` of each label at each time, where labels may be repeated and separated by `blank`, or by `reduction` their mean or sum.
    ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor
    _ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor neg_log_likelihood, Tensor log_alpha)  # The negative log probability of each of the sequences `targets`, and the log probabilities of all their beginnings up to each time.
operator only:
    _ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor
"""
