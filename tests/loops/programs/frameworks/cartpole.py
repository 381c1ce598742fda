"""Policy gradient on CartPole: a forward for each move, one optimizer step for each episode."""

import gymnasium
import torch

torch.manual_seed(0)
environment = gymnasium.make("CartPole-v1")
policy = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(60):
    state, _ = environment.reset(seed=episode)
    done, chosen, rewards = False, [], []
    while not done:
        distribution = torch.distributions.Categorical(logits=policy(torch.from_numpy(state)))
        action = distribution.sample()
        state, reward, terminated, truncated, _ = environment.step(int(action))
        chosen.append(distribution.log_prob(action))
        rewards.append(reward)
        done = terminated or truncated
    returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.stack(chosen) * (returns - returns.mean())).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("episodes 60")
