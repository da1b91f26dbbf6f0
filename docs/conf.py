"""Configuration of the documentation: `make docs`."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

sys.path.insert(0, str(Path(__file__).parent))
import generate
import terms

project = "Sluicegate"
author = "the Sluicegate maintainers"
version = release = installed_version("sluicegate")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "gallery", "reference/generated/gallery/*.ipynb"]
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
html_math_renderer = "mathml"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_title = f"Sluicegate {version}"


def formula(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without a script from the network."""
    as_block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext(), as_block=as_block))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer(
        "mathml", inline_renderers=(formula, None), block_renderers=(formula, None)
    )
    app.connect("builder-inited", lambda app: generate.write(Path(app.srcdir)))
    app.connect("build-finished", lambda app, _: generate.write_page(Path(app.srcdir), app.outdir))
    app.connect("doctree-resolved", terms.link_terms)
