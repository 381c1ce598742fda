"""Snake on a 10x10 board, learnt by deep Q-learning: an environment of one's own, replayed moves, a target network."""

import argparse
import random
from collections import deque

import gymnasium
import numpy as np
import torch
from torch import nn

SIDE = 10
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Snake(gymnasium.Env):
    """Planes of head, body and food; a move turns left, goes on or turns right; food is worth 1, the end -1."""

    action_space = gymnasium.spaces.Discrete(3)
    observation_space = gymnasium.spaces.Box(0, 1, (3, SIDE, SIDE), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.body = deque([(SIDE // 2, SIDE // 2), (SIDE // 2, SIDE // 2 - 1)])
        self.facing, self.hungry = 0, 0
        self._feed()
        return self._look(), {}

    def step(self, action):
        self.facing = (self.facing + int(action) - 1) % 4
        row, column = self.body[0][0] + MOVES[self.facing][0], self.body[0][1] + MOVES[self.facing][1]
        dead = not (0 <= row < SIDE and 0 <= column < SIDE) or (row, column) in list(self.body)[:-1]
        if dead:
            return self._look(), -1.0, True, False, {}
        self.body.appendleft((row, column))
        self.hungry += 1
        if (row, column) == self.food:
            self.hungry = 0
            self._feed()
            return self._look(), 1.0, False, False, {}
        self.body.pop()
        return self._look(), -0.01, False, self.hungry > 100, {}

    def _feed(self):
        free = [(r, c) for r in range(SIDE) for c in range(SIDE) if (r, c) not in self.body]
        self.food = free[int(self.np_random.integers(len(free)))]

    def _look(self):
        planes = np.zeros((3, SIDE, SIDE), np.float32)
        planes[0][self.body[0]] = 1
        for place in list(self.body)[1:]:
            planes[1][place] = 1
        planes[2][self.food] = 1
        return planes


def network():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * SIDE * SIDE, 128),
        nn.ReLU(),
        nn.Linear(128, 3),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=2500)
    parser.add_argument("--moves-per-update", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    env = Snake()
    state, _ = env.reset(seed=args.seed)
    online, target = network(), network()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=args.lr)
    memory = deque(maxlen=20_000)
    scores, score, update = deque(maxlen=50), 0, 0
    while update < args.updates:
        for _ in range(args.moves_per_update):
            if random.random() < max(0.05, 1 - update / 1500):
                action = random.randrange(3)
            else:
                with torch.no_grad():
                    action = online(torch.from_numpy(state)[None]).argmax().item()
            following, reward, ended, cut, _ = env.step(action)
            memory.append((state, action, reward, following, ended))
            score += reward > 0
            state = following
            if ended or cut:
                scores.append(score)
                score = 0
                state, _ = env.reset()
        if len(memory) < 500:
            continue
        batch = random.sample(memory, args.batch_size)
        states, actions, rewards, followings, ends = (np.array(part) for part in zip(*batch, strict=True))
        states, followings = torch.tensor(states), torch.tensor(followings)
        rewards = torch.tensor(rewards, dtype=torch.float32)
        values = online(states).gather(1, torch.tensor(actions)[:, None])[:, 0]
        with torch.no_grad():
            best = target(followings).max(1).values
            wanted = rewards + 0.97 * best * (1 - torch.tensor(ends, dtype=torch.float32))
        loss = nn.functional.smooth_l1_loss(values, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update += 1
        if update % 200 == 0:
            target.load_state_dict(online.state_dict())
        if update % 500 == 0:
            print(f"update {update} loss {loss.item():.4f} food {sum(scores) / max(1, len(scores)):.2f}", flush=True)


if __name__ == "__main__":
    main()
