"""Write the iris data as a typical user's table."""

from sklearn.datasets import load_iris


def write_iris(folder):
    """Write a table with ids, four features and the species; return its path."""
    data = load_iris()
    lines = ["id,sepal length,sepal width,petal length,petal width,species"]
    for i, (row, target) in enumerate(zip(data.data, data.target, strict=True)):
        lines.append(f"p{i},{','.join(map(str, row))},{data.target_names[target]}")
    path = folder / "iris.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
