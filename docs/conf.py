"""Configuration of the documentation: `make docs`."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))
import generate
import terms

project = "Sluicegate"
author = "the Sluicegate maintainers"
version = release = installed_version("sluicegate")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
default_role = "code"

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
autodoc_default_options = {"exclude-members": "__init__, __new__"}
maximum_signature_line_length = 88
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_title = f"Sluicegate {version}"


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", lambda app: generate.write(Path(app.srcdir)))
    app.connect("doctree-resolved", terms.link_terms)
