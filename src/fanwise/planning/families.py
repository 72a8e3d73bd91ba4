"""The one table of families: where each is described, resolved on use.

A family decides one kind of question. An algorithm is a function that answers it; families that
work in stages (provision: choose pairs, then pack them) have one table of algorithms per stage and
write a combination with a plus sign, as in ``gsp+ffbp``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fanwise.errors import ParameterError
from fanwise.planning.family import Family, load

DESCRIPTIONS: Mapping[str, str] = {
    "select": "fanwise.select.description:DESCRIPTION",
    "provision": "fanwise.provision.description:DESCRIPTION",
    "connect": "fanwise.connect.description:DESCRIPTION",
    "assign": "fanwise.assign.description:DESCRIPTION",
    "wire": "fanwise.wire.description:DESCRIPTION",
}

REPORT = "fanwise.report.writing:write_report"
"""What writes plans as a page: reports stand above planning, so they are resolved on use."""


class Families(Mapping[str, Family]):
    """Families by name, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Family:
        family: Family = load(DESCRIPTIONS[name])
        return family

    def __iter__(self) -> Iterator[str]:
        return iter(DESCRIPTIONS)

    def __len__(self) -> int:
        return len(DESCRIPTIONS)

    def __contains__(self, name: object) -> bool:
        return name in DESCRIPTIONS  # without loading it


FAMILIES = Families()


def find_family(name: str) -> Family:
    """Return the family called ``name``."""
    if name not in FAMILIES:
        raise ParameterError("problem", f"one of {', '.join(FAMILIES)}", name)
    return FAMILIES[name]
