"""The papers' experiments, done again: our numbers next to theirs.

Each paper has a package here that says what to run, and a file in ``data/`` that holds the settings
of its experiments, the numbers it prints, and what is said about the comparison. The rest is
shared:

- :mod:`fanwise.papers.paper`: what a data file says; :mod:`fanwise.papers.words`: its templates;
- :mod:`fanwise.papers.case`: what was measured on one problem, and the rows of ``table.csv``;
- :mod:`fanwise.papers.course`: one reproduction on its way: scale, seed, runs, comparisons;
- :mod:`fanwise.papers.panels`, :mod:`fanwise.papers.curves`: pictures; :mod:`fanwise.papers.page`:
  the folder that is written.

To add a figure: yield its cases in the paper's ``runs.py``, and describe the picture and the
comparisons in the data file.
"""
