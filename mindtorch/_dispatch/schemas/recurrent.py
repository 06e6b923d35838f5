"""Recurrent networks: whole layers, single steps, and the packing of sequences of different lengths.

``hx`` and ``params`` are those of all layers; ``.data`` overloads take the data of a packed sequence.
"""

SCHEMAS = """
function:
    rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)  # The outputs and the last hidden states of layers in which h' = tanh(W_ih x + b_ih + W_hh h + b_hh), with the weights `params`, over the sequence `input` and from the states `hx`.
    rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)
    rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)  # The outputs and the last hidden states of layers in which h' = relu(W_ih x + b_ih + W_hh h + b_hh), with the weights `params`, over the sequence `input` and from the states `hx`.
    rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)
    lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)  # The outputs, and the last hidden and cell states, of layers of long short-term memory with the weights `params`, over the sequence `input` and from the states `hx`.
    lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)
    gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)  # The outputs and the last hidden states of layers of gated recurrent units with the weights `params`, over the sequence `input` and from the states `hx`.
    gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)
    rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor  # The next hidden state, tanh(`w_ih` `input` + `b_ih` + `w_hh` `hx` + `b_hh`).
    rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor  # The next hidden state, relu(`w_ih` `input` + `b_ih` + `w_hh` `hx` + `b_hh`).
    lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)  # The next hidden and cell states of long short-term memory, for `input` and the states `hx`.
    gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor  # The next hidden state of a gated recurrent unit, for `input` and the state `hx`.
    _pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)  # The elements of the padded sequences `input`, step by step without the padding, and how many sequences reach each step.
    _pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)  # The packed sequences `data`, each continued with `padding_value` up to `total_length`, and their lengths.
operator only:
    pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0.0, str padding_side="right") -> Tensor  # `sequences` in one tensor, each continued with `padding_value` up to the length of the longest.
    mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)  # One direction of one layer of long short-term memory over `input` in a single kernel: outputs, hidden and cell state, and what its derivative needs.
    mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor hx_, Tensor cx_tmp, Tensor output, Tensor hy_, Tensor cy_, Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, bool reverse, int mode, int hidden_size, int num_layers, bool has_biases, bool train, bool bidirectional, int[] batch_sizes, bool batch_first, Tensor workspace) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)
"""
