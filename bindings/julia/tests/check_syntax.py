"""Every file parses, and each piece of Julia on the pages of the documentation, by the grammar of tree-sitter, which
needs no Julia.   check_syntax.py FOLDER [FOLDER_OF_PAGES]
77: the modules tree_sitter and tree_sitter_julia are not there; Debian 12 has no package of them."""
import pathlib
import re
import sys

try:
    import tree_sitter
    import tree_sitter_julia
except ImportError as reason:
    print(f"skipped: {reason}; Debian 12 has no parser of Julia")
    sys.exit(77)

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_julia.language()))


def places(node):
    """Where the tree has an error."""
    if node.type == "ERROR" or node.is_missing:
        return [node.start_point[0] + 1]
    return [line for child in node.children if child.has_error for line in places(child)]


def pieces(page):
    """The line that each fenced piece of Julia begins after, and its text."""
    text = page.read_text()
    for piece in re.finditer(r"^```julia\n(.*?)^```", text, re.M | re.S):
        yield text.count("\n", 0, piece.start(1)), piece.group(1)


def main(folder, *guides):
    files = sorted(pathlib.Path(folder).rglob("*.jl"))
    assert len(files) > 10
    assert parser.parse(b"function f(x\n  1\nend\n").root_node.has_error, "errors are not seen"
    wrong = [f"{file}:{line}: no Julia" for file in files for line in places(parser.parse(file.read_bytes()).root_node)]
    pages = [*pathlib.Path(folder).rglob("*.md"), *(page for guide in guides for page in sorted(pathlib.Path(guide).rglob("*.md")))]
    shown = [(page, *piece) for page in pages for piece in pieces(page)]
    assert not guides or len(shown) > 5
    wrong += [f"{page}:{before + line}: no Julia" for page, before, text in shown
              for line in places(parser.parse(text.encode()).root_node)]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(files)} files and {len(shown)} pieces on pages parse")


if __name__ == "__main__":
    main(*sys.argv[1:])
