"""Random numbers: stateless, from a generator, from the global seed."""

import pinnace as tf

uniform = tf.random.stateless_uniform([3], seed=[1, 2])
assert bool(tf.reduce_all(uniform == tf.random.stateless_uniform([3], seed=[1, 2])))
one, other = tf.unstack(tf.random.split([1, 2], num=2))
assert not bool(tf.reduce_all(one == other))
generator = tf.random.Generator.from_seed(1)
dice = generator.uniform([6], minval=1, maxval=7, dtype=tf.int32)
assert 1 <= int(tf.reduce_min(dice)) <= int(tf.reduce_max(dice)) <= 6
parts: list[tf.random.Generator] = generator.split(2)
tf.random.set_seed(7)
first = tf.random.normal([3])
tf.random.set_seed(7)
assert bool(tf.reduce_all(first == tf.random.normal([3])))
