"""What `forebay validate` found, as a section of the validation page (`benches/peers`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from forebay._engine import version
from forebay._report.table import cell
from forebay._validate.check import Finding, Statistical, Within
from forebay._validate.runner import FAMILIES, MODULES, Outcome

PLURAL = {"agrees": "agree", "differs": "differ", "imprecise": "are imprecise"}
COLUMNS = ["quantity", "unit", "reference", "ours", "95 % interval", "runs", "error", "verdict"]


def checks(outcome: Outcome, command: str) -> dict[str, Any]:
    """The section of the closed forms."""
    findings = outcome.findings
    return {
        "section": "Closed forms",
        "order": 4,
        "version": version,
        "command": command,
        "text": _text(outcome),
        "tables": [
            {
                "heading": heading,
                "text": _family_text(family, those),
                "columns": COLUMNS,
                "rows": _rows(those),
            }
            for family, heading in FAMILIES.items()
            if (those := [each for each in findings if each.check.family == family])
        ],
        "results": [result(finding) for finding in findings],
    }


def result(finding: Finding) -> dict[str, Any]:
    """All that is known about one quantity, as plain values."""
    interval, seeds = finding.interval, finding.check.seeds
    return {
        "check": finding.check.name,
        "title": finding.check.title,
        "source": finding.check.source,
        "quantity": finding.quantity.name,
        "unit": finding.quantity.unit,
        "reference": finding.quantity.reference,
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "runs": interval.samples,
        "seeds": [seeds[0], seeds[-1]],
        "rule": finding.quantity.test.rule,
        "verdict": finding.verdict,
    }


def _text(outcome: Outcome) -> list[str]:
    findings = outcome.findings
    verdicts = Counter(finding.verdict for finding in findings)
    exact = [each for each in findings if isinstance(each.quantity.test, Statistical)]
    missed = sum(not each.covered for each in exact)
    said = ", ".join(f"{count} {PLURAL[verdict]}" for verdict, count in verdicts.items())
    return [
        f"{len(findings)} quantities were checked: {said}. They took "
        f"{outcome.packets / 1e6:.0f} million packets in {outcome.cpu_seconds:.0f} s of processor "
        "time.",
        "**If the theory is exact**, a quantity agrees if it is in the 99.9 % interval of the "
        "replications, differs by less than 1 % from their mean, and the 95 % interval is within "
        "1 % of the mean on either side (otherwise it is `imprecise`). The table shows 95 % "
        "intervals, but they do not decide: of a hundred correct quantities, about five are "
        f"outside. Here {missed} of {len(exact)} are. Quantities of one check come from the same "
        "runs and are outside together. At 99.9 %, the chance of any false alarm among them is at "
        f"most {100 * (1 - 0.999 ** len(exact)):.0f} % for new seeds.",
        "**If the theory is an approximation**, or bounds a difference that is not random, the "
        "whole 95 % interval must be within a stated share of the reference, and the reason for "
        "that share is given. The seeds of a check are consecutive and follow from its name. "
        "`forebay validate --only NAME` repeats one check.",
    ]


def _family_text(family: str, findings: Sequence[Finding]) -> str:
    """The family's own words, and the reasons for what its checks allow."""
    _, _, rest = (MODULES[family].__doc__ or "").partition("\n\n")
    paragraphs = [" ".join(paragraph.split()) for paragraph in rest.split("\n\n")]
    tests = [each.quantity.test for each in findings]
    reasons = dict.fromkeys(
        f"- {test.rule}: {test.why}." for test in tests if isinstance(test, Within)
    )
    return "\n\n".join([*paragraphs, "\n".join(reasons)]).strip()


def _rows(findings: Sequence[Finding]) -> list[list[Any]]:
    rows: list[list[Any]] = []
    last = None
    for finding in findings:
        if finding.check is not last:
            last = finding.check
            head = f"**{last.title}** (`{last.name}`; {last.source}; seeds {_seeds(last.seeds)})"
            rows.append([head, *[""] * (len(COLUMNS) - 1)])
        found = finding.interval
        between = "" if found.low is None else f"{cell(found.low, 5)} to {cell(found.high, 5)}"
        error = "" if finding.error != finding.error else f"{finding.error * 100:+.2f} %"
        rows.append(
            [
                finding.quantity.name,
                finding.quantity.unit,
                finding.quantity.reference,
                found.mean,
                between,
                found.samples,
                error,
                f"{finding.verdict} ({finding.quantity.test.rule})",
            ]
        )
    return rows


def _seeds(seeds: range) -> str:
    return f"{seeds[0]} to {seeds[-1]}"
