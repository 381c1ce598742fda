# coding: utf-8
import argparse
import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description='words')
parser.add_argument('--bptt', type=int, default=5)
parser.add_argument('--lr', type=float, default=1)
parser.add_argument('--clip', type=float, default=0.25)
args = parser.parse_args()


class RNNModel(nn.Module):
    def __init__(self, ntoken=11):
        super(RNNModel, self).__init__()
        self.encoder = nn.Embedding(ntoken, 8)
        self.rnn = nn.LSTM(8, 8)
        self.decoder = nn.Linear(8, ntoken)

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.encoder(input), hidden)
        return self.decoder(output).view(-1, 11), hidden


def repackage_hidden(h):
    return tuple(v.detach() for v in h)


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i+seq_len], source[i+1:i+1+seq_len].view(-1)


train_data = torch.randint(11, (21, 4))
model = RNNModel()
criterion = nn.CrossEntropyLoss()


def train():
    # Turn on training mode which enables dropout.
    model.train()
    total_loss = 0.
    hidden = (torch.zeros(1, 4, 8), torch.zeros(1, 4, 8))
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        # Starting each batch, we detach the hidden state from how it was previously produced.
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()

        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)

        total_loss += loss.item()
    return total_loss


lr = args.lr
print(train())
