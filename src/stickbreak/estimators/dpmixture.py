"""The estimator that people import."""

from __future__ import annotations

import os
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, DensityMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from stickbreak.core.arrays import Floats, Ints
from stickbreak.core.family import Family
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary
from stickbreak.core.workspace import Workspace
from stickbreak.data import Piece, Source
from stickbreak.data.profile import profile
from stickbreak.errors import OptionError
from stickbreak.estimators import fitting
from stickbreak.estimators.checkpoint import read_checkpoint
from stickbreak.estimators.entry import opened
from stickbreak.estimators.history import History
from stickbreak.estimators.options import Options, read_family, read_options, read_seed, whole
from stickbreak.learn.workers import Crew, tasks


class DPMixture(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """Mixture of any exponential family under a Dirichlet process or a related prior.

    Clusters are found by variational inference whose bound on the log evidence is exact, every constant included, and
    never falls (Hughes & Sudderth 2013). Data may be arrays, frames, memory maps, files of any size, or iterables of
    blocks.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        What one cluster looks like: "gaussian", "zero-mean-gaussian", "diagonal-gaussian", "multinomial",
        "categorical", "bernoulli", "poisson", "mixed" (a table as it is), or an object from `stickbreak.families`
        with its prior's parameters.
    prior : str or AllocationPrior, optional
        How mass is shared out: "dirichlet-process" (the default), "beta-sticks", "pitman-yor", "finite-dirichlet", or
        an object from `stickbreak.priors`.
    concentration : float or "learn", default=1.0
        Readiness for new clusters; learned under a Gamma(1, 1) prior if so asked.
    algorithm : {"memoized", "full", "stochastic"}, default="memoized"
        Memoized: block by block, every step raising the bound. Full: all rows, then all clusters. Stochastic: noisy
        steps.
    n_components : int, optional
        Clusters to begin with: 1 by default where births find the others, 20 elsewhere. Without births it is also the
        most there can be (the truncation).
    moves : {"auto", "birth-merge", "merge", "greedy-merge", "none"}, Moves or None, default="auto"
        How the number of clusters changes on the way. "auto" makes births and merges, but none in stochastic
        inference; a `Moves` object says in detail.
    init : str, array, model or start, default="k-means++"
        "k-means++", "random", "best-of-10", an array of labels or of responsibilities, a fitted model, or an object
        such as ``BestOf(5)``.
    n_blocks : int or "auto", default="auto"
        Blocks that the data are visited in.
    max_iter : int, default=100
        Largest number of laps over the data.
    tol : float, default=1e-5
        The fit ends when a lap raises the bound by less than so many nats a row; 0 runs all `max_iter` laps.
    resp_per_row : int, optional
        Keep only so many responsibilities of each row; the bound is that of the restricted q.
    learning_rate : (float, float), default=(10.0, 0.6)
        Delay d and exponent kappa of stochastic inference's step sizes ``(t + d)^-kappa``.
    random_state : int, Generator, RandomState or None
        Seed. The same seed gives the same result to the last bit, whatever `n_jobs`.
    n_jobs : int, optional
        Worker threads; None for all cores. BLAS threads are managed by the library.
    verbose : int, default=0
        1 shows progress on standard error: a live line on a terminal, plain lines in a log.
    callbacks : callable or list of callables, optional
        Called with a `Lap` after every lap; one that returns True ends the fit.
    warm_start : bool, default=False
        Whether `fit` goes on from the last fit's clusters.

    Attributes
    ----------
    n_components_ : int
        Clusters found.
    weights_ : ndarray of shape (n_components_,)
        Expected shares of the clusters found; they add up to one.
    labels_ : ndarray of shape (n_rows,)
        Most probable cluster of each row, clusters numbered by size; only for data held in memory.
    elbo_ : float
        Evidence lower bound of the whole data in nats, every constant included.
    history_ : History
        A record a lap: lap, n_components, elbo, seconds.
    converged_ : bool
        Whether the bound stopped rising before `max_iter`.
    interrupted_ : str or None
        How far a fit got that was ended by Ctrl-C.
    n_iter_ : int
        Laps done.
    concentration_ : float
        Concentration, its mean if it was learned.
    means_, covariances_, variances_, probabilities_, rates_, category_probabilities_, parts_
        What the family tells of its clusters.
    summary_ : Summary
        The clusters' sums.
    family_, prior_
        Family and allocation prior with all their parameters.
    n_features_in_ : int
        Columns seen in fit.
    feature_names_in_ : ndarray
        Their names, if all are strings.

    Examples
    --------
    >>> import numpy as np
    >>> from stickbreak import DPMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-5, 1, (300, 2)), rng.normal(5, 1, (100, 2))])
    >>> model = DPMixture(n_components=5, random_state=0).fit(X)
    >>> model.predict([[-5, -5], [5, 5]])
    array([0, 1])
    """

    def __init__(
        self,
        family: Any = "gaussian",
        *,
        prior: Any = None,
        concentration: Any = 1.0,
        algorithm: str = "memoized",
        n_components: int | None = None,
        moves: Any = "auto",
        init: Any = "k-means++",
        n_blocks: Any = "auto",
        max_iter: int = 100,
        tol: float = 1e-5,
        resp_per_row: int | None = None,
        learning_rate: Any = (10.0, 0.6),
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Any = None,
        warm_start: bool = False,
    ):
        self.family = family
        self.prior = prior
        self.concentration = concentration
        self.algorithm = algorithm
        self.n_components = n_components
        self.moves = moves
        self.init = init
        self.n_blocks = n_blocks
        self.max_iter = max_iter
        self.tol = tol
        self.resp_per_row = resp_per_row
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what data the chosen family takes."""
        tags = super().__sklearn_tags__()
        try:
            family = read_family(self.family)
        except OptionError:
            return tags
        tags.input_tags.sparse = getattr(family, "allows_sparse", False)
        tags.input_tags.allow_nan = getattr(family, "allows_missing", True)
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Find clusters.

        Parameters
        ----------
        X : array, frame, CSR matrix, memory map, path, or iterable of blocks
            The data; a path may be a ``.npy``, ``.npz``, Parquet, Arrow, Feather or CSV file, or a folder of them.
        y : None
            Ignored.
        sample_weight : ndarray of shape (n_rows,), optional
            Weights; weight 2 is the row twice.
        checkpoint : path or Checkpoint, optional
            File to write the run to as it goes. If it is there already, the fit goes on from it.

        Returns
        -------
        DPMixture
            Itself.

        Examples
        --------
        >>> import numpy as np
        >>> from stickbreak import DPMixture
        >>> DPMixture(n_components=2, random_state=0).fit(np.arange(20.0).reshape(-1, 1)).n_features_in_
        1
        """
        del y
        options = read_options(self)
        keep = read_checkpoint(checkpoint)
        rng = read_seed(self.random_state)
        init = self if self.warm_start and hasattr(self, "summary_") else self.init
        with opened(self, X, options.family, reset=True) as (source, family), Crew(self.n_jobs) as crew:
            job = fitting.Job.prepare(source, sample_weight, options, family)
            outcome = fitting.fit(job, init, rng, crew, keep, self.verbose)
            self._learn(job.model, outcome)
            self._forget_labels()
            if source.resident:
                self.labels_ = self._labels(source, crew)
        self._warn(outcome, options)
        return self

    def _learn(self, model: Mixture, outcome: fitting.Outcome) -> None:
        self._settle(model, outcome.summary)
        self.elbo_ = outcome.elbo
        self.history_ = outcome.history
        self.converged_ = outcome.converged
        self.interrupted_ = outcome.interrupted
        self.n_iter_ = len(outcome.history)

    def _settle(self, model: Mixture, summary: Summary) -> None:
        """Set all that follows from a model and its sums."""
        for name in [n for n in vars(self) if n.endswith("_") and n[:-1] in _DESCRIBED]:
            delattr(self, name)
        self.family_: Family = model.family
        self.prior_ = model.prior
        self.summary_ = summary
        self.n_components_ = summary.n_clusters
        shares = model.prior.shares(summary.counts)[:-1]
        self.weights_ = shares / shares.sum()
        learned = model.prior.describe(summary.counts)
        self.concentration_ = learned.get("concentration", getattr(model.prior, "concentration", np.nan))
        for name, value in model.family.describe(model.natural(summary)).items():
            setattr(self, f"{name}_", value)

    def _forget_labels(self) -> None:
        if hasattr(self, "labels_"):
            del self.labels_

    def _warn(self, outcome: fitting.Outcome, options: Options) -> None:
        if outcome.interrupted:
            warnings.warn(f"{outcome.interrupted}; the model is usable as it is.", UserWarning, stacklevel=3)
        elif not outcome.converged and len(outcome.history) >= options.max_iter and options.tol > 0:
            warnings.warn(
                f"after max_iter={options.max_iter} laps the bound still rises by {options.tol:g} nats a row and lap "
                "or more. Raise max_iter or tol, or set tol=0 to run a fixed number of laps.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Ints:
        """Find clusters and return each row's.

        Parameters
        ----------
        X : array, frame, path or iterable of blocks
            The data.
        y : None
            Ignored.
        sample_weight : ndarray of shape (n_rows,), optional
            Weights.

        Returns
        -------
        ndarray of shape (n_rows,)
            Most probable clusters.
        """
        self.fit(X, y, sample_weight)
        return self.labels_ if hasattr(self, "labels_") else self.predict(X)

    @property
    def _model(self) -> Mixture:
        check_is_fitted(self, "summary_")
        return Mixture(self.family_, self.prior_)

    @property
    def _n_features_out(self) -> int:
        """Number of columns that `transform` gives."""
        return int(self.n_components_)

    def _over_rows(self, source: Source, crew: Crew, work: Any, out: np.ndarray) -> np.ndarray:
        """Fill `out` with what `work` makes of each piece of the data."""
        step = self._model.tile_rows(self.n_components_)

        def one(task: Piece) -> tuple[slice, np.ndarray]:
            n = task.rows.shape[0]
            parts = [work(task.rows[low : low + step], crew.workspace) for low in range(0, n, step)]
            return task.where, np.concatenate(parts)

        for where, part in crew.in_order(one, tasks(source.pieces(), step)):
            out[where] = part
        return out

    def _assigner(self) -> Any:
        model, limit = self._model, self.resp_per_row or np.iinfo(np.int64).max
        posterior = model.posterior(self.summary_)

        def assign(rows: Any, workspace: Workspace) -> Responsibilities:
            return model.assign(rows, np.ones(rows.shape[0]), posterior, limit, workspace)[1]

        return assign

    def _labels(self, source: Source, crew: Crew) -> Ints:
        assign = self._assigner()

        def labels(rows: Any, workspace: Workspace) -> Ints:
            return np.asarray(assign(rows, workspace).toarray(self.n_components_).argmax(axis=1))

        return self._over_rows(source, crew, labels, np.empty(fitting.counted(source), dtype=np.int64))

    def _checked(self, X: Any) -> Any:
        return opened(self, X, self.family_, reset=False)

    def predict(self, X: Any) -> Ints:
        """Find the most probable cluster of each row.

        Parameters
        ----------
        X : array, frame, path or iterable of blocks
            The data.

        Returns
        -------
        ndarray of shape (n_rows,)
            Clusters, counted from 0.
        """
        check_is_fitted(self, "summary_")
        with self._checked(X) as (source, family), Crew(self.n_jobs) as crew:
            family.accept(profile(source))
            return self._labels(source, crew)

    def predict_proba(self, X: Any) -> Floats:
        """Find each row's probability of belonging to each cluster.

        Parameters
        ----------
        X : array, frame, path or iterable of blocks
            The data.

        Returns
        -------
        ndarray of shape (n_rows, n_components_)
            Responsibilities; those below 1e-17 of a row's largest are exactly zero.
        """
        check_is_fitted(self, "summary_")
        assign = self._assigner()

        def work(rows: Any, workspace: Workspace) -> Floats:
            return assign(rows, workspace).toarray(self.n_components_)  # type: ignore[no-any-return]

        with self._checked(X) as (source, family), Crew(self.n_jobs) as crew:
            family.accept(profile(source))
            return self._over_rows(source, crew, work, np.empty((fitting.counted(source), self.n_components_)))

    def transform(self, X: Any) -> Floats:
        """Replace each row by its probabilities of belonging to each cluster.

        Parameters
        ----------
        X : array, frame, path or iterable of blocks
            The data.

        Returns
        -------
        ndarray of shape (n_rows, n_components_)
            Responsibilities.
        """
        return self.predict_proba(X)

    def score_samples(self, X: Any) -> Floats:
        """Compute the log posterior predictive density of each row.

        Parameters
        ----------
        X : array, frame, path or iterable of blocks
            The data.

        Returns
        -------
        ndarray of shape (n_rows,)
            Log densities in nats; low values are outliers.
        """
        check_is_fitted(self, "summary_")
        model, s = self._model, self.summary_

        def work(rows: Any, workspace: Workspace) -> Floats:
            del workspace
            return model.log_density(rows, s)

        with self._checked(X) as (source, family), Crew(self.n_jobs) as crew:
            family.accept(profile(source))
            return self._over_rows(source, crew, work, np.empty(fitting.counted(source)))

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the mean log posterior predictive density.

        Parameters
        ----------
        X : array, frame, path or iterable of blocks
            The data.
        y : None
            Ignored.

        Returns
        -------
        float
            Nats a row.
        """
        del y
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1) -> tuple[Floats, Ints]:
        """Draw rows from the clusters found, by their shares and their predictive densities.

        Parameters
        ----------
        n_samples : int
            Number of rows.

        Returns
        -------
        tuple of ndarray of shape (n_samples, n_features_in_) and ndarray of shape (n_samples,)
            Rows, and the cluster of each.
        """
        model = self._model
        rng = read_seed(self.random_state)
        labels = np.sort(rng.choice(self.n_components_, size=whole("n_samples", n_samples), p=self.weights_))
        lam = model.natural(self.summary_)
        kinds, sizes = np.unique(labels, return_counts=True)
        rows = [model.family.sample(lam[k], n, rng) for k, n in zip(kinds, sizes, strict=True)]
        return np.concatenate(rows), labels

    def combine(self, other: DPMixture, clusters: str = "apart") -> DPMixture:
        """Make one model of two that were fitted to different rows, by adding their sums.

        The bound of the result is exact for the rows of both, as each row keeps its assignment.

        Parameters
        ----------
        other : DPMixture
            A model of the same family and prior.
        clusters : {"apart", "same"}
            "apart" keeps the clusters of both side by side; "same" adds cluster to cluster by their ids, for a model
            that was started from the other (``init=``).

        Returns
        -------
        DPMixture
            A fitted model of all rows.
        """
        model = self._model
        check_is_fitted(other, "summary_")
        if clusters not in ("apart", "same"):
            raise OptionError(f"clusters={clusters!r} must be 'apart' or 'same'.")
        if not model.family.same_prior(other.family_) or model.prior != other.prior_:
            raise OptionError("models of different priors can't be added: fit the second with family=first.family_.")
        theirs = fitting.moved(other, model.family)
        if clusters == "same" and not np.array_equal(np.sort(theirs.ids), np.sort(self.summary_.ids)):
            raise OptionError("the models don't have the same clusters: use clusters='apart'.")
        s = self.summary_ + theirs if clusters == "same" else self.summary_.beside(theirs)
        both = type(self)(**self.get_params(deep=False))
        for name in ("n_features_in_", "feature_names_in_", "schema_"):
            if hasattr(self, name):
                setattr(both, name, getattr(self, name))
        s = s.by_size()
        both._learn(model, fitting.Outcome(s, model.bound(s), History()))  # noqa: SLF001
        return both

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file, atomically; `stickbreak.load` reads it.

        Parameters
        ----------
        path : path
            The file.
        """
        from stickbreak.estimators.loading import save

        check_is_fitted(self, "summary_")
        save(self, path)


_DESCRIBED = {"means", "covariances", "variances", "probabilities", "rates", "category_probabilities", "parts"}
