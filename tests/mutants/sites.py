"""Where a module can be changed a little so that it does something else, and what each change writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}
COMPUTED = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"), ast.BitOr: ("|", "&"), ast.BitAnd: ("&", "|"),
}
SAME_EITHER_WAY = frozenset(
    {"frozen", "slots", "strict", "kw_only", "eq", "repr", "stacklevel", "daemon", "help", "description"})
"""Keywords whose values no caller can tell apart, or that are texts for people."""
LOGS = frozenset({"log", "logger", "_log", "_logger", "logging", "LOG"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the characters from `start` to `end` of a file are `written` instead."""

    file: str
    """Its path from the repository's root."""
    line: int
    function: str
    """The qualified name of the function it lies in; empty where the module runs it as it is imported."""
    start: int
    end: int
    written: str

    def apply(self, source: str) -> str:
        """Return the file with the change."""
        return source[:self.start] + self.written + source[self.end:]

    def describe(self, source: str) -> str:
        """Return the line before and after, as people read it."""
        begin = source.rfind("\n", 0, self.start) + 1
        stop = source.find("\n", self.end)
        before = source[begin:stop]
        after = self.apply(source)[begin:stop + len(self.written) - (self.end - self.start)]
        return f"{self.file}:{self.line}\n  - {' '.join(before.split())}\n  + {' '.join(after.split())}"


def mutants(file: str, source: str) -> list[Mutant]:
    """Return every change of a file, in order; annotations, docstrings, f-strings, log lines and asserts have none."""
    visitor = _Sites(source)
    visitor.visit(ast.parse(source))
    # Some sites are found twice, as the value of a return that is a comparison is; each change is kept once.
    found = {(start, end, written): (line, function) for line, function, start, end, written in visitor.found}
    return [
        Mutant(file, line, function, start, end, written)
        for (start, end, written), (line, function) in sorted(found.items())
    ]


class _Sites(ast.NodeVisitor):
    """Collects changes as it walks a module."""

    def __init__(self, source: str) -> None:
        self.found: list[tuple[int, str, int, int, str]] = []
        self._source = source
        self._scope: list[str] = []
        self._in_function = 0
        # The places that ast tells are in bytes of a line.
        self._starts, place = [], 0
        self._lines = source.splitlines(keepends=True)
        for line in self._lines:
            self._starts.append(place)
            place += len(line)

    def _place(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _add(self, node: ast.expr | ast.stmt, start: int, end: int, written: str) -> None:
        function = ".".join(self._scope) if self._in_function else ""
        self.found.append((node.lineno, function, start, end, written))

    def _swap(self, node: ast.expr, left: ast.expr, right: ast.expr, before: str, after: str) -> None:
        """Change an operator, which stands between two operands; brackets and comments may stand there, too."""
        begin, stop = self._span(left)[1], self._span(right)[0]
        between = self._source[begin:stop]
        if "#" in between or (found := between.find(before)) < 0:
            return
        self._add(node, begin + found, begin + found + len(before), after)

    # What is left alone.

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Python 3.11 tells wrong places within f-strings."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """What is asserted for the type checker."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """An argument holds nothing but its annotation."""

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in SAME_EITHER_WAY:
            self.visit(node.value)

    # Scopes.

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        # Decorators and defaults run where the function is made.
        for each in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if each is not None:
                self.visit(each)
        self._scope.append(node.name)
        self._in_function += 1
        for statement in node.body:
            self.visit(statement)
        self._in_function -= 1
        self._scope.pop()

    visit_FunctionDef = _function  # noqa: N815 - the names are those of ast.NodeVisitor
    visit_AsyncFunctionDef = _function  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in (*node.decorator_list, *node.keywords):
            self.visit(each)
        self._scope.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._scope.pop()

    # What is changed.

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
            self._swap(node, left, right, *COMPARED[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        before, after = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._swap(node, left, right, before, after)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if change := COMPUTED.get(type(node.op)):
            self._swap(node, node.left, node.right, *change)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start, end = self._span(node)
            self._add(node, start, end, f"bool({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        start, end = self._span(node)
        if isinstance(node.value, bool):
            self._add(node, start, end, str(not node.value))
        elif isinstance(node.value, int):
            self._add(node, start, end, str(node.value + 1))
        elif isinstance(node.value, float):
            self._add(node, start, end, str(node.value * 2 or 1.0))

    def _condition(self, node: ast.If | ast.While | ast.IfExp) -> None:
        # `if TYPE_CHECKING` and `while True` are no conditions.
        if not isinstance(node.test, (ast.Constant, ast.Name)) or self._in_function:
            start, end = self._span(node.test)
            if not isinstance(node.test, ast.Constant):
                self._add(node, start, end, f"(not ({self._source[start:end]}))")
            self.generic_visit(node)

    visit_If = _condition  # noqa: N815
    visit_While = _condition  # noqa: N815
    visit_IfExp = _condition  # noqa: N815

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._add(node, *self._span(node.value), "None")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call):
            if _is_log(call):
                return
            self._add(node, *self._span(node), "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node, *self._span(node), "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        # Its arguments are texts.
        if self._in_function and node.exc is not None:
            self._add(node, *self._span(node), "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add(node, *self._span(node), "break")

    def visit_Break(self, node: ast.Break) -> None:
        self._add(node, *self._span(node), "continue")

    def visit_Call(self, node: ast.Call) -> None:
        if _is_log(node):
            return
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "any", "all"):
            other = {"min": "max", "max": "min", "any": "all", "all": "any"}[node.func.id]
            self._add(node, *self._span(node.func), other)
        self.generic_visit(node)

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self._source[start:end]


def _is_log(call: ast.Call) -> bool:
    """Whether a call writes a line of the log: what stands there is for people."""
    names: Iterator[ast.AST] = ast.walk(call.func)
    return any(isinstance(node, ast.Name) and node.id in LOGS for node in names)
