"""Find the places where cosmic-ray can change the code, and draw from them.

A place is one operator, number, condition or loop. A draw takes places, not changes, since an
operator has many replacements and a loop has one. Places are ordered by a hash of the seed and of
the surrounding code, so that a change elsewhere leaves the draw unchanged.

Operators are replaced only by similar ones: a bit shift in place of a sum ends in a TypeError,
which says nothing about the tests.
"""

import ast
import difflib
import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

BINARY = {"arith_expr", "term", "power", "expr", "and_expr", "xor_expr"}
KINDS = [
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"BitOr", "BitAnd", "BitXor"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
]


@dataclass(frozen=True)
class Place:
    """Where the code can be changed, and by which operators of cosmic-ray."""

    path: str
    function: str
    line: int
    identity: str
    changes: list = field(repr=False)


@dataclass(frozen=True)
class Mutant:
    """One changed file: the old lines, the new lines, and the whole new code."""

    path: str
    function: str
    line: int
    before: str
    after: str
    code: str = field(repr=False)

    @property
    def key(self):
        return f"{self.path} {self.function} {self.before} -> {self.after}"


def chosen_operators():
    """Return the operators of cosmic-ray that replace code by similar code, by name."""
    names = [name for name in operator_names() if not get_operator(name).arguments()]
    return {name: get_operator(name)() for name in names if _keeps_to_its_kind(name)}


def _keeps_to_its_kind(name):
    parts = name.split("/")[1].split("_")
    if parts[0] in ("ReplaceBinaryOperator", "ReplaceComparisonOperator"):
        return any(kind.issuperset(parts[1:]) for kind in KINDS)
    return True


def places(path, code, operators):
    """Return all places of a file that affect behaviour."""
    functions, silent = _functions(code), _silent_spans(code)
    changes = defaultdict(list)
    nodes = list(ast_nodes(get_ast(code)))
    for name, operator in operators.items():
        family = name.split("/")[1].split("_")[0]
        occurrence = -1
        for node in nodes:
            for start, end in operator.mutation_positions(node):
                occurrence += 1
                is_sign = family == "ReplaceBinaryOperator" and node.parent.type not in BINARY
                is_silent = any(first <= start < last for first, last in silent)
                if not is_silent and not is_sign:
                    changes[start, end, family].append((name, occurrence))
    lines, seen, found = code.splitlines(), Counter(), []
    for (start, _, family), names in sorted(changes.items()):
        text = lines[start[0] - 1]
        column = start[1] - len(text) + len(text.lstrip())
        identity = f"{path}|{functions[start[0] - 1]}|{text.strip()}|{column}|{family}"
        seen[identity] += 1
        found.append(
            Place(path, functions[start[0] - 1], start[0], f"{identity}|{seen[identity]}", names)
        )
    return found


def drawn(found, n_mutants, seed):
    """Return the first places in the order of their hashes."""
    return sorted(found, key=lambda place: _hash(seed, place.identity))[:n_mutants]


def mutant_of(place, code, operators, seed):
    """Change the code at a place; the seed decides how."""
    name, occurrence = min(place.changes, key=lambda change: _hash(seed, place.identity, *change))
    changed = mutate_code(code, operators[name], occurrence)
    before, after = _difference(code.splitlines(), changed.splitlines())
    return Mutant(place.path, place.function, place.line, before, after, changed)


def _difference(before, after):
    """Return the removed lines and the added lines, without indentation."""
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    found = []
    for lines, first in ((before, 1), (after, 3)):
        texts = [line for block in changed for line in lines[block[first] : block[first + 1]]]
        found.append("\n".join(text.strip() for text in texts if text.strip()))
    return found


def _hash(*parts):
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


def _functions(code):
    """Return the enclosing function or class of each line, or an empty string."""
    names = [""] * (code.count("\n") + 1)

    def enter(node, around):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{around}.{child.name}".lstrip(".")
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                names[first - 1 : child.end_lineno] = [name] * (child.end_lineno - first + 1)
                enter(child, name)
            else:
                enter(child, around)

    enter(ast.parse(code), "")
    return names


def _silent_spans(code):
    """Return the spans of code that do not affect behaviour, as first and last positions.

    These are annotations, `__all__` and imports for type checkers. Cosmic-ray does not change
    strings, so docstrings and messages are excluded anyway.
    """
    silent = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef):
            silent.append(node.returns)
        elif isinstance(node, ast.arg | ast.AnnAssign):
            silent.append(node.annotation)
        elif (isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__") or (
            isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        ):
            silent.append(node)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        for node in silent
        if node is not None
    ]
