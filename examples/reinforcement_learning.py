"""Reinforcement learning as one graph: episodes are `while` loops over tensors.

    python examples/reinforcement_learning.py

A cart with a pole on it; the policy pushes left or right. An episode ends when the pole falls, so
its length depends on the data: AutoGraph makes `while` and `break` a loop of the graph, and the
gradient of REINFORCE goes through it. The physics are those of Barto, Sutton and Anderson, 1983.
"""

from __future__ import annotations

import argparse

import pinnace as tf

GRAVITY, CART, POLE, HALF_LENGTH, PUSH, TICK_S = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
LIMITS = (2.4, 0.2095)  # metres, radians


def physics(state, action):
    """The state [position, speed, angle, turn] after a push to the left (0) or right (1)."""
    x, x_dot, theta, theta_dot = state[0], state[1], state[2], state[3]
    force = tf.where(action > 0, PUSH, -PUSH)
    total = CART + POLE
    sine, cosine = tf.sin(theta), tf.cos(theta)
    pushed = (force + POLE * HALF_LENGTH * theta_dot**2 * sine) / total
    turning = (GRAVITY * sine - cosine * pushed) / (
        HALF_LENGTH * (4.0 / 3.0 - POLE * cosine**2 / total)
    )
    moving = pushed - POLE * HALF_LENGTH * turning * cosine / total
    return tf.stack(
        [
            x + TICK_S * x_dot,
            x_dot + TICK_S * moving,
            theta + TICK_S * theta_dot,
            theta_dot + TICK_S * turning,
        ]
    )


def run_episode(policy, longest):
    """The logarithms of the probabilities of what was done, one a step."""
    state = tf.random.uniform([4], -0.05, 0.05)
    chances = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    step = tf.constant(0)
    while step < longest:
        logits = policy(state[tf.newaxis])
        action = tf.random.categorical(logits, 1)[0, 0]
        chances = chances.write(step, tf.nn.log_softmax(logits)[0, action])
        state = physics(state, action)
        step += 1
        if tf.abs(state[0]) > LIMITS[0] or tf.abs(state[2]) > LIMITS[1]:
            break
    return chances.stack()


@tf.function
def train_episode(policy, optimizer, longest):
    """One episode and one step of REINFORCE; gives the episode's length."""
    with tf.GradientTape() as tape:
        chances = run_episode(policy, longest)
        length = tf.shape(chances)[0]
        # What is to come from each step on, counted in steps.
        returns = tf.cast(tf.range(length, 0, -1), tf.float32)
        # Better than the average of this episode, or worse.
        advantage = (returns - tf.reduce_mean(returns)) / (tf.math.reduce_std(returns) + 1e-6)
        loss = -tf.reduce_mean(chances * advantage)
    gradients = tape.gradient(loss, policy.trainable_variables)
    optimizer.apply_gradients(zip(gradients, policy.trainable_variables))
    return length


def main(episodes=300, longest=200):
    tf.keras.utils.set_random_seed(1)
    policy = tf.keras.Sequential(
        [
            tf.keras.Input((4,)),
            tf.keras.layers.Dense(16, activation="tanh"),
            tf.keras.layers.Dense(2),
        ]
    )
    optimizer = tf.keras.optimizers.Adam(0.01)
    lengths = []
    for episode in range(episodes):
        lengths.append(int(train_episode(policy, optimizer, longest)))
        if (episode + 1) % 50 == 0:
            print(f"episode {episode + 1}: {sum(lengths[-50:]) / 50:.1f} steps on average")
    return lengths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=300)
    main(parser.parse_args().episodes)
