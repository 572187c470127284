"""`linkselect demo`: three methods on a real data set, from ten pairs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.table import Table

__all__ = ["demo"]


def demo(*, n_features: int = 3, draws: int = 20) -> None:
    """Rank the features of the breast cancer data from ten pairs, by three methods.

    Parameters
    ----------
    n_features
        How many features to choose, from 1 to 30.
    draws
        Over how many random draws of ten pairs accuracies are averaged.
    """
    from rich.console import Console

    if not 1 <= n_features <= 30 or draws < 1:
        sys.exit("linkselect demo: choose --n-features from 1 to 30 and --draws from 1.")
    console = Console()
    chosen, table = _compare_on_breast_cancer(n_features, draws)
    console.print(
        "\n[bold]Breast cancer data[/bold]: 569 samples, 30 features, half of them for training."
        "\nAll that the methods know are 5 must-links and 5 cannot-links between training samples."
        "\n"
    )
    console.print(chosen)
    console.print(table)
    console.print(
        "\nThe same in Python:\n\n"
        "  [cyan]from linkselect import ConstraintScore, Pairs\n"
        "  pairs = Pairs(must=[(0, 3), (1, 4)], cannot=[(0, 60), (3, 61)])\n"
        "  selector = ConstraintScore(n_features_to_select=3).fit(X, pairs=pairs)[/cyan]\n"
    )


def _compare_on_breast_cancer(n_features: int, draws: int) -> tuple[Table, Table]:
    import numpy as np
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import MinMaxScaler

    from linkselect import LSDF, ConstrainedLaplacianScore, ConstraintScore, Pairs

    data = load_breast_cancer()
    train, test, y_train, y_test = train_test_split(
        data.data, data.target, test_size=0.5, stratify=data.target, random_state=0
    )
    scaler = MinMaxScaler().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    methods: dict[str, Any] = {
        "Constraint Score": ConstraintScore(n_features),
        "LSDF": LSDF(n_features),
        "Constrained Laplacian": ConstrainedLaplacianScore(n_features),
    }

    def accuracy(features: NDArray[Any]) -> float:
        model = KNeighborsClassifier(1).fit(train[:, features], y_train)
        return float(model.score(test[:, features], y_test))

    found: dict[str, list[float]] = {name: [] for name in [*methods, "random choice"]}
    first_choice: dict[str, Any] = {}
    for draw in range(draws):
        pairs = Pairs.from_labels(y_train, n_must=5, n_cannot=5, random_state=draw)
        for name, selector in methods.items():
            best = selector.fit(train, pairs=pairs).order_[:n_features]
            first_choice.setdefault(name, data.feature_names[best])
            found[name].append(accuracy(best))
        random = np.random.default_rng(draw).permutation(train.shape[1])[:n_features]
        found["random choice"].append(accuracy(random))
    return _choice_table(first_choice), _accuracy_table(
        {name: 100 * np.array(values) for name, values in found.items()},
        100 * accuracy(np.arange(train.shape[1])),
        n_features,
    )


def _choice_table(choice: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table(title="The best features, from the first draw of pairs", title_justify="left")
    table.add_column("rank", justify="right", style="dim")
    for name in choice:
        table.add_column(name, style="green")
    for rank, features in enumerate(zip(*choice.values(), strict=True), start=1):
        table.add_row(str(rank), *features)
    return table


def _accuracy_table(found: dict[str, Any], with_all: float, n_features: int) -> Table:
    from rich.table import Table

    draws = len(next(iter(found.values())))
    table = Table(
        title=f"Accuracy of 1-NN on the other half, over {draws} draws of pairs",
        title_justify="left",
    )
    for column in ("features", "chosen by", "accuracy", ""):
        table.add_column(column, justify="right" if column in ("features", "accuracy") else "left")
    best = max(values.mean() for values in found.values())
    for name, values in found.items():
        colour = "bold green" if values.mean() == best else "red" if "random" in name else "yellow"
        number = f"[{colour}]{values.mean():.1f} %[/] [dim]± {values.std():.1f}[/]"
        table.add_row(str(n_features), name, number, _bar(values.mean(), colour))
    table.add_row("30", "all features", f"{with_all:.1f} %", _bar(with_all, "blue"))
    return table


def _bar(percent: float, colour: str) -> str:
    """Draw a bar from 50 % (nothing) to 100 % (25 characters)."""
    return f"[{colour}]{'█' * round(max(percent - 50.0, 0.0) / 2.0)}[/]"
