"""Lists of estimators for the common tests, with the options that change their behaviour."""

import pytest

import linkselect as ls

UNSUPERVISED = [
    ls.VarianceScore(),
    ls.LaplacianScore(),
    ls.SpectralScore(style=1),
    ls.SpectralScore(),
    ls.SpectralScore(style=3),
    ls.SparsityScore(),
    ls.SparsityScore(graph="l2"),
    ls.SparsityScore(graph="lle"),
    ls.SparsityScore(form="tolerance", tolerance=1e3),
]
SUPERVISED = [
    ls.FisherScore(),
    ls.FRLL(),
    ls.FRLL(criterion="difference", neighbors="per_class"),
    ls.ReliefF(),
    ls.ReliefF(discrete=True),
    ls.FisherMarkov(),
    ls.TraceRatio(),
]
INFORMATION = [ls.MRMR(), ls.MRMR(scheme="quotient", discretize="quantile"), ls.FCBF()]
PAIRWISE = [
    ls.LinkSelector(),
    ls.LinkSelector(0.5, noise=0.3, scale="range"),
    ls.ConstraintScore(),
    ls.ConstraintScore(criterion="difference"),
    ls.LSDF(),
    ls.LaplacianConstraintScore(),
    ls.ConstrainedLaplacianScore(),
    ls.ConstrainedLaplacianScore(variant="2014"),
    ls.CompensatedLaplacianScore(),
    ls.SCGS(),
    ls.EnsembleCLS(n_estimators=4, random_state=0),
    ls.SimilarityConstraintScore(),
    ls.SimilarityConstraintScore(mode="semi-supervised", sigma="target"),
    ls.SimilarityConstraintScore(0.5, mode="semi-supervised", max_pairs=50, random_state=0),
]
PARTLY_LABELLED = [ls.NearestNeighborSFS(), ls.NearestNeighborSFS(cv=2)]
# All selectors except wrappers.
SELECTORS = [*UNSUPERVISED, *SUPERVISED, *INFORMATION, *PAIRWISE, *PARTLY_LABELLED]
# Each wrapper with selectors of different kinds.
WRAPPERS = [
    ls.StableSelector(ls.FisherScore(), n_resamples=4, random_state=0),
    ls.StableSelector(ls.ConstraintScore(criterion="difference"), n_resamples=4, random_state=0),
    ls.Redundancy(ls.FisherScore()),
    ls.Redundancy(ls.VarianceScore()),
    ls.FeatureRules(ls.FisherScore()),
    ls.FeatureRules(ls.ConstraintScore(criterion="difference"), copies="one"),
]
# Selectors that combine several others.
COMBINED = [
    ls.ConsensusSelector(random_state=0),
    ls.ConsensusSelector(
        estimators=[("fisher", ls.FisherScore()), ("variance", ls.VarianceScore())]
    ),
]
# Greedy methods and subset scores, whose order does not follow the scores of single features.
SEARCHING = (
    ls.LinkSelector,
    ls.SimilarityConstraintScore,
    ls.TraceRatio,
    ls.NearestNeighborSFS,
)
SEARCHES = [
    ls.LinkSelector(5),
    ls.SimilarityConstraintScore(),
    ls.SimilarityConstraintScore(5, mode="semi-supervised"),
    ls.SimilarityConstraintScore(5, max_pairs=100, random_state=0),
    ls.TraceRatio(),
    ls.NearestNeighborSFS(),
]
CLUSTERERS = [
    ls.ConstrainedSpectralClustering(random_state=0),
    ls.ConstrainedSpectralClustering(normalization="symmetric", random_state=0),
    ls.COPKMeans(random_state=0),
]

every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=repr)
every_pair_selector = pytest.mark.parametrize("selector", PAIRWISE, ids=repr)
every_partly_labelled = pytest.mark.parametrize("selector", [*PAIRWISE, *PARTLY_LABELLED], ids=repr)
every_search = pytest.mark.parametrize("selector", SEARCHES, ids=repr)
every_wrapper = pytest.mark.parametrize("wrapper", WRAPPERS, ids=repr)
