"""
Pipelines and grid search, with pairs
=====================================

A selector is a step of a pipeline. scikit-learn's metadata routing passes the pairs to it. They
remain correct in every fold because they name samples by id instead of row number.
"""

# %%
# Enable metadata routing once.

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from linkselect import (
    LSDF,
    AsScoreFunction,
    ConstraintScore,
    LaplacianScore,
    Pairs,
    SimilarityConstraintScore,
    plot,
)
from linkselect.evaluation import Curve

sklearn.set_config(enable_metadata_routing=True)
X, y = load_breast_cancer(return_X_y=True)
ids = np.array([f"patient {row}" for row in range(len(y))])
pairs = Pairs.from_labels(y, sample_ids=ids, n_must=60, n_cannot=60, random_state=0)

# %%
# The grid search selects the method and its number of features together. Each fold uses the pairs
# whose two samples are both in it.

model = Pipeline(
    [("scale", MinMaxScaler()), ("select", LSDF()), ("classify", KNeighborsClassifier(1))]
)
sizes = [1, 3, 5, 10, 20]
grid = {
    "select": [ConstraintScore(), LSDF(), SimilarityConstraintScore()],
    "select__n_features_to_select": sizes,
}
search = GridSearchCV(model, grid, cv=5).fit(X, y, pairs=pairs, sample_ids=ids)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
# All combinations:

curves = {}
for selector in grid["select"]:
    name = type(selector).__name__
    rows = [
        row
        for row, tried in enumerate(search.cv_results_["params"])
        if type(tried["select"]).__name__ == name
    ]
    folds = [search.cv_results_[f"split{fold}_test_score"][rows] for fold in range(5)]
    curves[name] = Curve(np.array(sizes), np.array(folds))
plot.curves(curves)
plt.show()

# %%
# scikit-learn's ``SelectKBest`` also accepts every per-feature score, and a grid search can tune
# the parameters of the score.

model = Pipeline(
    [
        ("scale", MinMaxScaler()),
        ("select", SelectKBest(AsScoreFunction(LaplacianScore()), k=5)),
        ("classify", KNeighborsClassifier(1)),
    ]
)
search = GridSearchCV(model, {"select__score_func__estimator__n_neighbors": [3, 10, 30]}, cv=5)
print(search.fit(X, y).best_params_)

sklearn.set_config(enable_metadata_routing=False)
