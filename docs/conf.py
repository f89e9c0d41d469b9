"""The site's settings: `make docs` builds it offline, and every warning is an error."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from docutils import nodes

os.environ.setdefault("MPLBACKEND", "Agg")
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

from command_pages import write_command_page  # noqa: E402  (once its folder is on the path)
from docstring_math import as_rst  # noqa: E402  (once its folder is on the path)
from public_names import write_reference  # noqa: E402  (once its folder is on the path)

import aioli  # noqa: E402  (once its folder is on the path)

project = "aioli"
author = "The aioli developers"
copyright = "the aioli developers, BSD-3-Clause"
version = release = aioli.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
exclude_patterns = [
    "_ext",
    "_static",
    "_templates",
    "gallery/**.ipynb",
    "gallery/**.py",
    "**/sg_execution_times.rst",
    "sg_execution_times.rst",
]
templates_path = ["_templates"]
nitpicky = False
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions, which no cache keeps

# ---- pages in Markdown
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# ---- the interface, from docstrings
autosummary_generate = write_reference(HERE / "reference" / "api")
autosummary_imported_members = False
autodoc_typehints = "none"  # the signature has them already where they say something
autodoc_member_order = "bysource"
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = {  # those of other libraries, and of float, say nothing of aioli
    "aioli.Certificate": False,
    "aioli.sklearn.AIOLIClassifier": False,
    "aioli.river.AIOLIClassifier": False,
}
numpydoc_xref_param_type = False
default_role = "py:obj"

# ---- the gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "plot_gallery": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
    "matplotlib_animations": False,
    "min_reported_time": 3,
    "default_thumb_file": str(HERE / "_static" / "aioli.svg"),
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib",),
}

# ---- what the button beside a block copies: the code, without prompts and without what it prints
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ---- the look: nothing is loaded from anywhere else
html_theme = "pydata_sphinx_theme"
html_title = "aioli"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/aioli.svg"
html_favicon = "_static/aioli.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "aioli"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "choosing/index": []}
html_context = {"default_mode": "auto"}  # light or dark as the reader's system says
mathjax_path = "mathjax/tex-svg.js"  # one file with its fonts inside, from the package sphinx-mathjax-offline
mathjax3_config = {"svg": {"fontCache": "none"}}

for made in (HERE / "gallery").glob("plot_*.rst"):  # the page of an example that is gone
    if not (HERE.parent / "examples" / f"{made.stem}.py").exists():
        made.unlink()
write_command_page(HERE / "reference" / "api" / "command_help.rst")


def _docstring(_app, _what, _name, _obj, _options, lines):
    lines[:] = as_rst(lines)


def _trim_blocks(_app, doctree):
    """Drop the empty line that doctest needs at the end of an example."""
    for block in doctree.findall(nodes.literal_block):
        if block.rawsource == block.astext():
            block.rawsource = block.rawsource.rstrip()
            block.children = [nodes.Text(block.rawsource)]


def _add_new_pages(_app, docname, source):
    """List pages at the top of docs/ that no section names yet at the end of the last one."""
    if docname == "in_depth/index":
        named = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("*/index.md"))
        new = [f"/{path.stem}" for path in sorted(HERE.glob("*.md")) if f"\n/{path.stem}\n" not in named]
        body = source[0].rstrip().removesuffix("```")
        source[0] = "\n".join([body.rstrip(), *(name for name in new if name != "/index"), "```", ""])


def _copy_mathjax(app, failure):
    if failure is None and app.builder.format == "html":
        package = importlib.util.find_spec("sphinx-mathjax-offline")
        source = Path(package.origin).parent / "static" / "mathjax" / "tex-svg.js"
        target = Path(app.outdir) / "_static" / "mathjax"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def setup(app):
    """Connect what turns docstrings into reStructuredText, what mends pages, and what copies MathJax."""
    app.connect("autodoc-process-docstring", _docstring, priority=100)  # before numpydoc
    app.connect("source-read", _add_new_pages)
    app.connect("doctree-read", _trim_blocks)
    app.connect("build-finished", _copy_mathjax)
