"""Many mutants in one build: each is a branch that an environment variable opens.

cargo-mutants names the mutants (`cargo mutants --list --json`), and a build for each of them would cost
thousands of builds. Here the chosen ones are written into a copy of the sources as switches,

    a + b    becomes    (if crate::mutant::is(7) { a - b } else { a + b })

so that one build has them all and MUTANT=7 runs the tests with that one. REACHED=FILE writes the numbers of
the switches that a run comes to into FILE, each once. A mutant that does not compile as a switch is left out
(most of those do not compile at all, others stand in a `const fn`).
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_rust.language()))

MODULE = """
pub(crate) mod mutant {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// The mutant, and the file that tells which switches were reached.
    static CHOSEN: OnceLock<(u32, Option<std::fs::File>)> = OnceLock::new();
    static SEEN: [AtomicBool; 1 << 13] = [const { AtomicBool::new(false) }; 1 << 13];
    #[inline]
    pub(crate) fn is(number: u32) -> bool {
        let (chosen, reached) = CHOSEN.get_or_init(chosen);
        if let Some(file) = reached {
            note(file, number);
        }
        *chosen == number
    }
    fn chosen() -> (u32, Option<std::fs::File>) {
        let number = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let open = |name| std::fs::OpenOptions::new().append(true).create(true).open(name).ok();
        (number, std::env::var_os("REACHED").and_then(open))
    }
    fn note(mut file: &std::fs::File, number: u32) {
        let seen = &SEEN[number as usize];
        if !seen.load(Relaxed) && !seen.swap(true, Relaxed) {
            let _ = std::io::Write::write_all(&mut file, format!("{number}\n").as_bytes());
        }
    }
}
"""


@dataclass
class Mutant:
    """One of cargo-mutants' list, with the number of its switch."""

    number: int
    name: str
    file: str
    package: str
    genre: str
    replacement: str
    span: dict
    #: Where its switch stands in the changed file, in bytes.
    places: list = field(default_factory=list)

    @property
    def test(self) -> str:
        return f"crate::mutant::is({self.number})"


def offset(lines: list[str], place: dict) -> int:
    """Bytes before a line and column that count from 1 (columns in characters)."""
    before = sum(len(line.encode()) for line in lines[: place["line"] - 1])
    return before + len(lines[place["line"] - 1][: place["column"] - 1].encode())


class File:
    """A source file and the mutants in it."""

    def __init__(self, path: pathlib.Path, mutants: list[Mutant]):
        self.source = path.read_bytes()
        self.tree = PARSER.parse(self.source)
        lines = self.source.decode().splitlines(keepends=True)
        #: Mutants by the node that carries their switch.
        self.at: dict[int, list[Mutant]] = {}
        self.left_out: list[Mutant] = []
        for mutant in mutants:
            start, end = offset(lines, mutant.span["start"]), offset(lines, mutant.span["end"])
            node = self.node_of(mutant, start, end)
            if node is None:
                self.left_out.append(mutant)
            else:
                self.at.setdefault(node.id, []).append(mutant)

    def node_of(self, mutant: Mutant, start: int, end: int) -> Node | None:
        node = self.tree.root_node.descendant_for_byte_range(start, end)
        match mutant.genre:
            case "BinaryOperator":
                kinds = ("binary_expression", "compound_assignment_expr")
                node = node.parent
                good = node is not None and node.type in kinds
                return node if good and node.child_by_field_name("operator").start_byte == start else None
            case "UnaryOperator":
                node = node.parent
                return node if node is not None and node.type == "unary_expression" else None
            case "FnValue":
                while node is not None and node.type != "function_item":
                    node = node.parent
                return node.child_by_field_name("body") if node is not None else None
            case "MatchArm" | "MatchArmGuard":
                while node is not None and node.type != "match_arm":
                    node = node.parent
                return node.child_by_field_name("pattern") if node is not None else None
            case "StructField":
                while node is not None and node.type != "field_initializer":
                    node = node.parent
                return node
        return None

    def text(self, node: Node) -> str:
        """The node's text with all switches inside."""
        mutants = self.at.get(node.id, [])
        plain = self.plain(node)
        if not mutants:
            return plain
        match node.type:
            case "binary_expression" | "compound_assignment_expr":
                left, right = (self.text(node.child_by_field_name(side)) for side in ("left", "right"))
                others = [(m, f"{left} {m.replacement} {right}") for m in mutants]
                return "(" + "".join(f"if {m.test} {{ {t} }} else " for m, t in others) + f"{{ {plain} }})"
            case "unary_expression":
                inner = self.text(node.children[-1])
                return f"(if {mutants[0].test} {{ {inner} }} else {{ {plain} }})"
            case "block":
                early = "".join(f"if {m.test} {{ return {m.replacement}; }} " for m in mutants)
                return "{ " + early + plain[1:]
            case "match_pattern":
                return self.pattern(node, mutants)
            case "field_initializer":
                name, value = self.text(node.child_by_field_name("field")), self.text(node.child_by_field_name("value"))
                base = next((c for c in node.parent.children if c.type == "base_field_initializer"), None)
                if base is None:
                    return plain
                base = self.text(base).removeprefix("..")
                return f"{name}: if {mutants[0].test} {{ ({base}).{name} }} else {{ {value} }}"
        return plain

    def pattern(self, node: Node, mutants: list[Mutant]) -> str:
        guard = node.child_by_field_name("condition")
        alone = node.children[0]
        pattern = self.source[node.start_byte : (guard.start_byte if guard else node.end_byte)].decode().rstrip()
        pattern = pattern.removesuffix("if").rstrip() if guard else self.text(alone)
        condition = f"({self.text(guard)})" if guard else "true"
        for mutant in mutants:
            if mutant.genre == "MatchArmGuard" and mutant.replacement == "true":
                condition = f"({mutant.test} || {condition})"
            else:
                condition = f"(!{mutant.test} && {condition})"
        return f"{pattern} if {condition}"

    def plain(self, node: Node) -> str:
        """The node's text with the switches of its children, none of its own."""
        if not node.children:
            return self.source[node.start_byte : node.end_byte].decode()
        parts, at = [], node.start_byte
        for child in node.children:
            parts += [self.source[at : child.start_byte].decode(), self.text(child)]
            at = child.end_byte
        return "".join(parts) + self.source[at : node.end_byte].decode()

    def written(self) -> str:
        root = self.tree.root_node
        whole = self.plain(root)
        return self.source[: root.start_byte].decode() + whole + self.source[root.end_byte :].decode()
