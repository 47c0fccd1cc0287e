"""Sphinx's settings; `make docs` runs it. What is generated before lies in build/docs."""

import re
import xml.etree.ElementTree as tree
from pathlib import Path

import penstock
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "docs"

project = "Penstock"
author = "the Penstock authors"
copyright = author
version = release = penstock.__version__
language = "en"
smartquotes = False  # quoted values are what a program has to say

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "breathe", "sphinx_copybutton"]
exclude_patterns = ["Doxyfile"]
html_theme = "furo"
html_title = "Penstock"
html_static_path = ["static"]
html_css_files = ["penstock.css"]
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "footer_icons": []}
pygments_style = "friendly"
pygments_dark_style = "monokai"
highlight_language = "none"

myst_heading_anchors = 3  # links to sections, as in the files themselves
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch"]  # penstock.torch is documented without it
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 96
cpp_maximum_signature_line_length = 96
napoleon_numpy_docstring = False
napoleon_use_rtype = False
add_module_names = False
default_role = "any"

breathe_projects = {"penstock": str(BUILT / "doxygen" / "xml")}
breathe_default_project = "penstock"
breathe_default_members = ("members",)
breathe_show_include = False
cpp_id_attributes = ["PENSTOCK_EXPORT"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Pages that are files elsewhere: they are read as if they lay in docs/.
ELSEWHERE = {"index": ROOT / "README.md", "contributing": ROOT / "CONTRIBUTING.md",
             "reference/command": BUILT / "command.md"}
PLACES = {"CONTRIBUTING.md": "contributing.md"}


def seen_from_docs(link: re.Match[str]) -> str:
    target = link[1]
    if re.match(r"\w+:|#", target):
        return link[0]
    return f"]({PLACES.get(target) or (target.removeprefix('docs/') if target.startswith('docs/') else '../' + target)}"


def read_elsewhere(app: object, page: str, source: list[str]) -> None:
    file = ELSEWHERE.get(page)
    if file is None:
        return
    text = file.read_text()
    if page != "reference/command":
        text = re.sub(r"\]\(([^)\s]+)", seen_from_docs, text)
    source[0] = text + "\n" + source[0]


def public_names() -> dict[str, set[str]]:
    """What each page of the reference has to have: names of the C++ namespace, the C header, the Python package."""
    index = tree.parse(BUILT / "doxygen" / "xml" / "index.xml")
    names, c_names = set(), set()
    for compound in index.iter("compound"):
        name, members = compound.findtext("name", ""), compound.findall("member")
        if compound.get("kind") in ("class", "struct") and name.count("::") == 1:
            names.add(name.removeprefix("penstock::"))
        elif compound.get("kind") == "namespace":
            names |= {m.findtext("name", "") for m in members if m.get("kind") != "enumvalue"}
        elif compound.get("kind") == "struct" and name.startswith("penstock_"):
            c_names.add(name)
        elif name == "penstock.h":
            c_names |= {m.findtext("name", "") for m in members if m.get("kind") in ("function", "enum", "typedef")}
    return {"cpp/*.md": names - {"export"}, "c.md": c_names, "python.md": set(penstock.__all__) - {"__version__"}}


def check_reference(app: object) -> None:
    """A name that the reference has not is a warning, and so an error of `make docs`."""
    for pages, names in public_names().items():
        text = "".join(path.read_text() for path in sorted((ROOT / "docs" / "reference").glob(pages)))
        there = set(re.findall(r"(?:\{doxygen\w+\} (?:penstock::)?|:: )(\w+)", text))
        for name in sorted(names - there):
            logging.getLogger(__name__).warning("docs/reference/%s does not have %s", pages, name)


def without_self(app: object, what: str, name: str, obj: object, options: object, signature: str | None,
                 returns: str | None) -> tuple[str | None, str | None]:
    """Methods of the extension module are told with their own first argument, and abstract types by their full name."""
    def plain(text: str | None) -> str | None:
        return text and re.sub(r"^\(self(?:, )?", "(", text).replace("collections.abc.", "")

    return plain(signature), plain(returns)


def setup(app: object) -> None:
    app.connect("builder-inited", check_reference)  # type: ignore[attr-defined]
    app.connect("autodoc-process-signature", without_self)  # type: ignore[attr-defined]
    app.connect("source-read", read_elsewhere)  # type: ignore[attr-defined]
