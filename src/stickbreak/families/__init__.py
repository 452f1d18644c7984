"""What one cluster looks like."""

from collections.abc import Callable

from stickbreak.core.family import Family
from stickbreak.families.diagonal import DiagonalGaussian
from stickbreak.families.discrete import Bernoulli, Categorical, Poisson
from stickbreak.families.gaussian import Gaussian, ZeroMeanGaussian
from stickbreak.families.multinomial import Multinomial
from stickbreak.families.product import Mixed, Product

__all__ = [
    "Bernoulli",
    "Categorical",
    "DiagonalGaussian",
    "Family",
    "Gaussian",
    "Mixed",
    "Multinomial",
    "Poisson",
    "Product",
    "ZeroMeanGaussian",
]

BY_NAME: dict[str, Callable[[], Family | Mixed]] = {
    "gaussian": Gaussian,
    "zero-mean-gaussian": ZeroMeanGaussian,
    "diagonal-gaussian": DiagonalGaussian,
    "multinomial": Multinomial,
    "categorical": Categorical,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "mixed": Mixed,
}
"""Families by the names that an estimator takes."""
