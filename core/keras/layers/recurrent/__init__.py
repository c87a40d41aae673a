"""Recurrent layers: a cell applied to each step of a sequence."""

from pinnace.keras.layers.recurrent.bidirectional import Bidirectional as Bidirectional
from pinnace.keras.layers.recurrent.conv_lstm import ConvLSTM1D as ConvLSTM1D
from pinnace.keras.layers.recurrent.conv_lstm import ConvLSTM2D as ConvLSTM2D
from pinnace.keras.layers.recurrent.conv_lstm import ConvLSTM3D as ConvLSTM3D
from pinnace.keras.layers.recurrent.gru import GRU as GRU
from pinnace.keras.layers.recurrent.gru import GRUCell as GRUCell
from pinnace.keras.layers.recurrent.lstm import LSTM as LSTM
from pinnace.keras.layers.recurrent.lstm import LSTMCell as LSTMCell
from pinnace.keras.layers.recurrent.rnn import RNN as RNN
from pinnace.keras.layers.recurrent.simple import SimpleRNN as SimpleRNN
from pinnace.keras.layers.recurrent.simple import SimpleRNNCell as SimpleRNNCell
from pinnace.keras.layers.recurrent.stacked import StackedRNNCells as StackedRNNCells
