"""`keras.datasets`: common datasets, from files that are downloaded once."""

from pinnace.keras.datasets import boston_housing as boston_housing
from pinnace.keras.datasets import california_housing as california_housing
from pinnace.keras.datasets import cifar10 as cifar10
from pinnace.keras.datasets import cifar100 as cifar100
from pinnace.keras.datasets import fashion_mnist as fashion_mnist
from pinnace.keras.datasets import imdb as imdb
from pinnace.keras.datasets import mnist as mnist
from pinnace.keras.datasets import reuters as reuters
