"""Policy gradient in an environment of plain Python: a forward for each move, one optimizer step for each episode."""

import random

import torch


class Corridor:
    """Walk to the end of a corridor with a wind that blows back; every move is simulated in small steps."""

    def reset(self):
        self.at, self.moves = 0.5, 0
        return self.seen()

    def seen(self):
        return torch.tensor([self.at, self.moves / 12])

    def step(self, action):
        self.moves += 1
        for _ in range(6000):
            self.at += ((1 if action else -1) * 0.1 + random.gauss(0, 0.01)) / 6000
        return self.seen(), self.at, self.moves >= 12


random.seed(0)
torch.manual_seed(0)
corridor = Corridor()
policy = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(40):
    state, done, chosen, rewards = corridor.reset(), False, [], []
    while not done:
        distribution = torch.distributions.Categorical(logits=policy(state))
        action = distribution.sample()
        chosen.append(distribution.log_prob(action))
        state, reward, done = corridor.step(int(action))
        rewards.append(reward)
    loss = -(torch.stack(chosen) * torch.tensor(rewards)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("episodes 40")
