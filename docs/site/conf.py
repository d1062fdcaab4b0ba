"""How Sphinx builds the site; `docs/site/build.py` runs it on a copy of the sources."""

from __future__ import annotations

import warnings

import matplotlib

import properloss

matplotlib.use("Agg")

project = "properloss"
author = "The properloss developers"
copyright = "the properloss developers, MIT licence"  # noqa: A001
version = release = properloss.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*"]
nitpicky = False  # types of numpydoc are words, not names
# A page outside the menus is found by the search and by links.
suppress_warnings = ["config.cache", "toc.not_included"]

# Markdown. Pages are read on GitHub too: its headings have anchors, its formulas are ours.
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# The interface, from the docstrings.
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = True
templates_path = ["_templates"]

# Formulas without a request: one file that brings its glyphs.
mathjax_path = "mathjax.js"
mathjax3_config = {"options": {"enableMenu": False}}


html_theme = "pydata_sphinx_theme"
html_title = "properloss"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# From file:// the browser would refuse to fetch the pages whose summaries are shown.
html_show_search_summary = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "reference": []}


def strict(_config: dict[str, object], _name: str) -> None:
    """Before each example: a warning is an error."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update({"figure.figsize": (7.2, 4.2), "figure.dpi": 100, "axes.grid": True, "grid.alpha": 0.3})
    warnings.resetwarnings()
    warnings.simplefilter("error")
    # Of other packages, about each other.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"(?!properloss)")
    warnings.filterwarnings("ignore", category=PendingDeprecationWarning)
    warnings.filterwarnings("ignore", category=ResourceWarning)


sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": (strict,),
    "reset_modules_order": "before",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "doc_module": ("properloss",),
    "backreferences_dir": None,
    "nested_sections": False,
}
