"""How to check a release, who decides, and what the words mean."""

from __future__ import annotations

from shoal._version import __version__
from shoal.report.blocks import Code, Fields, Section, Table, Terms, code
from shoal.report.source import Source
from shoal.report.wording import GLOSSARY, OUTLINES

__all__ = ["appendix", "checking", "sign_off"]


def checking(source: Source) -> Section:
    """How anybody can check it."""
    name = source.name
    versions = source.told("versions") or {}
    made = ", ".join(f"{what} {number}" for what, number in versions.items())
    answer = [
        "Whoever has the release and its manifest can check every promise, without asking anybody: "
        "the check reads the published cells only.",
    ]
    if made:
        answer.append(f"The release was made with {made}.")
    answer.append(f"This report was made, and the release checked again, by Shoal {__version__}.")
    lines = [f"pip install shoal=={__version__}", f"shoal verify {name}"]
    if source.custodian:
        lines.append(f"shoal reproduce {name}.record.json ORIGINAL -o again.csv")
    if source.sha256:
        lines.append(f"sha256sum {name}   # {source.sha256}")
    return Section(
        "check", "How to check it", "How can anybody check this?", tuple(answer),
        (Code("In a shell", "\n".join(lines)),),
    )  # fmt: skip


def sign_off(source: Source) -> Section:
    """Who decides, and signs."""
    context = source.told("policy", "report") or {}
    fields = (
        ("Expert", str(context.get("expert", ""))),
        ("Role", ""),
        ("Decision (release, release with conditions, do not release)", ""),
        ("Conditions", ""),
        ("Date", ""),
        ("To be reviewed by", str(context.get("review", ""))),
        ("Signature", ""),
    )
    answer = (
        f"To be filled in by whoever decides. {code('shoal sign')} signs the files themselves, so "
        "that a changed byte is noticed.",
    )
    return Section("sign-off", "Sign-off", "Who decides?", answer, (Fields(fields),))


def appendix(source: Source, toml: str) -> Section:
    """Policy, words, and where other outlines find their answers."""
    blocks = (
        *((Code("The policy", toml),) if toml else ()),
        Terms(tuple(GLOSSARY.items())),
        Table(
            "Where other outlines find their answers", ("outline", "asks for", "is in"), OUTLINES
        ),
    )
    return Section("appendix", "Appendix", "What do the words mean?", (), blocks)
