"""scikit-learn's own checks, none excused, and what people do with estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import stickbreak as sb

ESTIMATORS = [
    sb.DPMixture(),
    sb.DPMixture(algorithm="full", n_components=4, concentration="learn"),
    sb.DPMixture(algorithm="stochastic", n_components=3, max_iter=10, tol=0),
    sb.DPMixture("diagonal-gaussian", prior="pitman-yor", resp_per_row=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
