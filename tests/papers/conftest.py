"""Which entries of the papers' data files were asked for."""

from __future__ import annotations

import pytest

from fanwise.papers.paper import Paper


@pytest.fixture(scope="session", autouse=True)
def asked():
    """Kind and name of every entry asked for so far, by paper."""
    found = {}
    entry = Paper.entry

    def note(self, kind, name):
        found.setdefault(self.name, set()).add((kind, name))
        return entry(self, kind, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Paper, "entry", note)
        yield found


@pytest.fixture(scope="session")
def never_asked(asked):
    """What of a paper's comparisons, figures and tables nobody asked for."""

    def missing(paper):
        all_entries = {
            (kind, name)
            for kind in ("comparisons", "captions", "curves", "tables")
            for name in paper.content.get(kind, ())
        }
        return all_entries - asked[paper.name]

    return missing
