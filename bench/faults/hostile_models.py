"""Model and loss files that nobody should write: good ones with one thing wrong, by name."""

import copy
import json

#: What stands in for a value. (`Raw` is text that no JSON library writes.)
BAD = ["null", "true", "\"x\"", "\"\"", "[]", "{}", "-1", "0", "1e308", "-1e308", "5e-324", "1e400", "NaN", "Infinity",
       "1" * 300, "[[[[[[1]]]]]]", "18446744073709551616", "0.1e-400", "-0.0", "\"\\u0000\\u001b[31m\""]


def places(value, path=()):
    """Every place of a tree, inner ones too."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, part in inner:
        yield from places(part, (*path, key))


def with_text(value, path, text):
    """The tree as JSON, with this text at a place."""
    if not path:
        return text
    tree = copy.deepcopy(value)
    inner = tree
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "@HERE@"
    return json.dumps(tree).replace('"@HERE@"', text)


def without(value, path):
    """The tree as JSON, less what is at a place."""
    tree = copy.deepcopy(value)
    inner = tree
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return json.dumps(tree)


def damaged(text, draw, count):
    """So many of the good file's places, each with one of the bad values or nothing."""
    tree = json.loads(text)
    every = [path for path in places(tree) if path]
    for k in range(count):
        path = draw.choice(every)
        name = f"{k}-" + "-".join(str(part) for part in path)
        bad = draw.choice([*BAD, None])
        yield f"{name}-{'gone' if bad is None else BAD.index(bad)}", (
            without(tree, path) if bad is None else with_text(tree, path, bad))


def whole(text):
    """What is wrong with the file as a whole."""
    tree = json.loads(text)
    yield "empty", ""
    yield "spaces", " \n" * 1000
    yield "null", "null"
    yield "number", "1e400"
    yield "text", '"properloss-model"'
    yield "array", f"[{text}]"
    yield "twice", text + text
    yield "rubbish-after", text + "x"
    yield "half", text[: len(text) // 2]
    yield "utf8-mark", "\ufeff" + text
    yield "utf16", text.encode("utf-16")
    yield "nul-inside", text.replace("{", "{\0", 1)
    yield "latin1", text.encode().replace(b"format", b"form\xe9")
    yield "deep", "[" * 100_000
    yield "deep-objects", '{"a":' * 50_000
    yield "deep-inside", text.replace("{", '{"x": ' + "[" * 63 + "]" * 63 + ", ", 1)
    yield "comments", "// a model\n" + text
    yield "trailing-comma", text.rstrip().removesuffix("}") + ",}"
    yield "same-key", text.replace("{", '{"version": 1, "version": 2, ', 1)
    yield "long-key", text.replace("{", '{"' + "k" * 2_000_000 + '": 1, ', 1)
    yield "many-keys", text.replace("{", "{" + "".join(f'"k{k}": {k},' for k in range(100_000)), 1)
    yield "surrogate", text.replace("{", '{"a": "\\ud800", ', 1)
    yield "single-quotes", text.replace('"', "'")
    for version in ["0", "3", "4294967297", "-1", "1.0", "1.5", "1e0", '"1"', "null"]:
        yield f"version-{version}", with_text(tree, ("version",), version)
    for kind in ["properloss-loss", "properloss-model", "properloss-checkpoint", "Properloss-Model", "", "\\u0000"]:
        yield f"format-{kind}", with_text(tree, ("format",), f'"{kind}"')


def links():
    """Links of all kinds, as the text of JSON."""
    def kind(name, z, u):
        return f'{{"kind": "{name}", "z": {z}, "u": {u}}}'
    for name in ["piecewise", "isotonic"]:
        yield f"{name}-equal-knots", kind(name, [0, 0, 1], [0, 0.5, 1])
        yield f"{name}-all-equal", kind(name, [0, 0, 0], [0, 0.5, 1])
        yield f"{name}-falling", kind(name, [0, 1, 2], [0, 0.7, 0.6])
        yield f"{name}-descending", kind(name, [2, 1, 0], [0, 0.5, 1])
        yield f"{name}-outside", kind(name, [0, 1, 2], [-0.1, 0.5, 1.1])
        yield f"{name}-nearly", kind(name, [0, 5e-324, 1e-323], [0, 0.5, 1])
        yield f"{name}-steep", kind(name, [-1e-308, 0, 1e-308], [0, 0.5, 1])
        yield f"{name}-flat", kind(name, [-1e308, 0, 1e308], [0, 0.5, 1])
        yield f"{name}-one", kind(name, [0], [0.5])
        yield f"{name}-none", kind(name, [], [])
        yield f"{name}-ragged", kind(name, [0, 1, 2], [0, 1])
        yield f"{name}-long", kind(name, [k / 7 for k in range(20_000)], [k / 19_999 for k in range(20_000)])
        yield f"{name}-constant", kind(name, [0, 1, 2], [0.5, 0.5, 0.5])
    nested = '{"kind": "builtin", "name": "sigmoid", "params": []}'
    for _ in range(40):
        nested = f'{{"kind": "relative", "base": {nested}, "p": [0, 0.3, 1], "v": [0, 0.4, 1]}}'
    yield "relative-nested", nested
    for name, params in [("clipped-line", [1e308, 1e308]), ("clipped-line", [0, 0]), ("clipped-line", [5e-324, 1]), ("matsushita", [0]),
                         ("matsushita", [1e308]), ("sigmoid", [1]), ("cauchy", [-1]), ("", []), ("probit", [1] * 1000)]:
        yield f"builtin-{name}-{params[:2]}", json.dumps({"kind": "builtin", "name": name, "params": params})
