"""The sections of a report, each answering one question: words first, numbers after."""

from shoal.report.sections.attackers import attacks_tried, standing_out
from shoal.report.sections.changed import changed
from shoal.report.sections.closing import appendix, checking, sign_off
from shoal.report.sections.risk import disclosures, original_risk, risk
from shoal.report.sections.scope import scope
from shoal.report.sections.use import useful
from shoal.report.sections.verdict import verdict

__all__ = [
    "appendix", "attacks_tried", "changed", "checking", "disclosures", "original_risk", "risk",
    "scope", "sign_off", "standing_out", "useful", "verdict",
]  # fmt: skip
