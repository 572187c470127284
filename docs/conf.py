"""Configure Sphinx. `make docs` builds the site without network, with warnings as errors."""

import os
import warnings
from pathlib import Path

import linkselect

project = "linkselect"
author = "The linkselect developers"
copyright = "the linkselect developers"  # noqa: A001
version = release = linkselect.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
smartquotes = False  # defaults in docstrings are code
highlight_language = "text"  # a block without a language is a command or its output
default_role = "code"  # docstrings write `scores_`
suppress_warnings = [
    "config.cache",  # the gallery sorts by a function
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False  # __all__ lists the public names
autosummary_imported_members = True
autodoc_typehints = "none"  # the types are in the docstrings
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False
numpydoc_validation_checks = {"GL03", "PR02", "PR03", "PR10", "SS01", "SS05"}
numpydoc_validation_exclude = {r"\.n_samples$"}  # a slot, described with the class

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "ExampleTitleSortKey",
    "copyfile_regex": "",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its page would load scripts from other sites
    "plot_gallery": True,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("linkselect",),
    "matplotlib_animations": False,
}
# Copy buttons omit prompts and outputs.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"

# The examples use the papers' data if these are where the tests look for them.
os.environ.setdefault("LINKSELECT_DATA", str(Path(__file__).parents[2] / "shared" / "data"))

# This warning would not appear in a terminal.
warnings.filterwarnings("ignore", message=".*non-interactive.*")

html_theme = "pydata_sphinx_theme"
html_title = "linkselect"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["linkselect.css"]
html_js_files = ["labels.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "linkselect",
        "image_light": "_static/favicon.svg",
        "image_dark": "_static/favicon.svg",
    },
    "show_prev_next": True,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "show_nav_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
WITHOUT_SIDEBAR = [
    "index",
    "start",
    "install",
    "which_method",
    "command_line",
    "methods",
    "faq",
    "glossary",
]
html_sidebars = {page: [] for page in WITHOUT_SIDEBAR}
