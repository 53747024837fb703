"""What was found, each sentence with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.papers import Data, Part, Statement
from forebay.papers.data import Where

from .points import (
    DISGUISED,
    FLOOD,
    GREEDY,
    L4S_FLOOD,
    LONG,
    MARKED,
    OFTEN,
    SHORT,
    TEXT,
    UNMARKED,
    of,
    rests,
)

GAME, BULK = "classes.game.p99_delay_ms", "classes.bulk.goodput_bps"
HONEST, CALL = "classes.honest.goodput_bps", "classes.call.p99_delay_ms"
LOW, HIGH = "classes.low.goodput_bps", "classes.high.p99_delay_ms"
GOLD, SILVER = "classes.gold.goodput_bps", "classes.silver.goodput_bps"
WAIT = "classes.gold.p99_delay_ms"
NARROW: Where = {"rate": "6Mbit"}


def apart(
    data: Data, study: str, measure: str, pair: tuple[str, str], case: Where, scale: float = 1.0,
    key: str = "discipline",
) -> object:  # fmt: skip
    """The first variant less the second, paired run by run."""
    one, other = (of(who, case, key) for who in pair)
    return data.difference(study, measure, one, other, scale=scale)


def ways(data: Data, measure: str, one: str, other: str, case: Where, scale: float = 1.0) -> object:
    """The same of two ways to carry a background transfer."""
    return apart(data, "background", measure, (one, other), case, scale, "title")


def measured(
    data: Data, study: str, keys: Mapping[str, str], case: Where, scale: float = 1.0
) -> list[tuple[str, object]]:
    """A measure of several variants."""
    return [
        (who, data.interval(study, key, of(who, case), scale=scale)) for who, key in keys.items()
    ]


def unmarked(data: Data) -> list[Part]:
    first = apart(data, "small", GAME, ("FQ-CoDel", "NCQ"), UNMARKED)
    dual = apart(data, "small", GAME, ("DualPI2", "NCQ"), UNMARKED)
    return [
        rests("unmarked game, FQ-CoDel less NCQ", first, 1, 5, "ms"),
        rests("DualPI2 less NCQ", dual, 20, 40, "ms"),
    ]


def often(data: Data) -> list[Part]:
    found = apart(data, "small", GAME, ("NCQ", "FQ-CoDel"), OFTEN)
    return [rests("four times as often, NCQ less FQ-CoDel", found, 80, unit="ms")]


def marked(data: Data) -> list[Part]:
    found = apart(data, "small", GAME, ("NQB", "NCQ"), MARKED)
    return [rests("marked game, NQB less NCQ", found, -0.01, 0.01, "ms")]


def flooded(data: Data) -> list[Part]:
    lost = measured(data, "small", {"NQB": "classes.game.loss"}, FLOOD, 100)
    saved = apart(data, "small", BULK, ("FQ-CoDel", "NCQ"), FLOOD, 1e-6)
    safe = measured(data, "small", {"NQB, protected": "classes.game.loss"}, FLOOD, 100)
    return [
        *(rests(f"game lost, {who}", found, 30, 60, "%") for who, found in lost),
        *(rests(f"game lost, {who}", found, high=0.1, unit="%") for who, found in safe),
        rests("bulk, FQ-CoDel less NCQ", saved, 4, unit="Mbit/s"),
    ]


def disguised_as_l4s(data: Data) -> list[Part]:
    dual = of("DualPI2", L4S_FLOOD), of("DualPI2", FLOOD)
    same = data.difference("small", BULK, *dual, scale=1e-6)
    game = measured(data, "small", {"DualPI2": GAME, "NQB": GAME}, L4S_FLOOD, 1)
    return [
        rests("bulk in DualPI2, flood with ECT(1) less with NQB", same, -0.3, 0.3, "Mbit/s"),
        *(
            rests(f"game, {who}, flood with ECT(1)", found, high=25, unit="ms")
            for who, found in game
        ),
    ]


SMALL = (
    Statement(
        "**NCQ still wins where nobody marks and small packets are few:** an unmarked game waits "
        "less than in FQ-CoDel, and much less than in DualPI2's classic queue.",
        unmarked,
    ),
    Statement(
        "**It fails when they are not few.** With four times as many packets the game is above "
        "NCQ's share, and waits with the rest.",
        often,
    ),
    Statement("With marks NQB does as well as NCQ.", marked),
    Statement(
        "**Marks are believed, and so is a liar.** A flood that carries the mark takes about half "
        "of "
        "the game's packets in NQB, unless queue protection moves it away. Fair queues need "
        "neither "
        "mark nor trust, and leave the bulk transfers most.",
        flooded,
    ),
    Statement(
        "A flood with ECT(1) reaches DualPI2's low-latency queue as one with the NQB mark does, "
        "and takes as much from the bulk transfers. The NQB queue does not know it.",
        disguised_as_l4s,
    ),
)


def port(data: Data) -> list[Part]:
    found = apart(data, "police", HONEST, ("CP-AQM", "FIFO"), GREEDY, 1e-6)
    return [rests("honest, CP-AQM less FIFO", found, high=0, unit="Mbit/s")]


def by_flow(data: Data) -> list[Part]:
    gain = apart(data, "police", HONEST, ("CP-AQM by flow", "CP-AQM"), GREEDY, 1e-6)
    near = apart(data, "police", HONEST, ("FQ-CoDel", "CP-AQM by flow"), GREEDY, 1e-6)
    wait = apart(data, "police", CALL, ("CP-AQM by flow", "FQ-CoDel"), GREEDY)
    return [
        rests("honest, by flow less CP-AQM", gain, 5, unit="Mbit/s"),
        rests("FQ-CoDel less by flow", near, 0, 0.2, "Mbit/s"),
        rests("call, by flow less FQ-CoDel", wait, 5, unit="ms"),
    ]


def protected(data: Data) -> list[Part]:
    call = apart(data, "police", CALL, ("NQB, protected", "NQB"), DISGUISED)
    honest = apart(data, "police", HONEST, ("NQB, protected", "FIFO"), GREEDY, 1e-6)
    return [
        rests("call, protected less not", call, high=-10, unit="ms"),
        rests("honest, protected NQB less FIFO", honest, -0.5, 0.5, "Mbit/s"),
    ]


POLICE = (
    Statement(
        "CP-AQM as its authors have it, one bucket for the port, does not help honest senders: the "
        "one that does not yield keeps its rate, as in a plain buffer.",
        port,
    ),
    Statement(
        "**A bucket for each flow does.** Honest senders get nearly what fair queues give them, "
        "from "
        "one short queue in order of arrival. The price is the call's delay.",
        by_flow,
    ),
    Statement(
        "**Queue protection protects a queue, not senders.** It saves the call from a liar; what "
        "honest bulk transfers get it does not change.",
        protected,
    ),
)


def important(data: Data) -> list[Part]:
    keys = {"voice": "classes.voice-important.loss", "data": "classes.data-important.loss"}
    return [
        rests(
            f"important {what} lost at 6 Mbit/s, CQ-AQM",
            data.interval("precedence", key, of("CQ-AQM", NARROW), scale=100),
            high=0.01,
            unit="%",
        )
        for what, key in keys.items()
    ]


def tins(data: Data) -> list[Part]:
    case, pair = NARROW, ("CAKE, four tins", "CQ-AQM")
    voice = apart(data, "precedence", "classes.voice-important.loss", pair, case, 100)
    goodput = apart(data, "precedence", "classes.data.goodput_bps", pair, {"rate": "12Mbit"}, 1e-6)
    return [
        rests("important voice lost, four tins less CQ-AQM", voice, 50, unit="points"),
        rests("data at 12 Mbit/s, four tins less CQ-AQM", goodput, 2, unit="Mbit/s"),
    ]


def by_precedence(data: Data) -> list[Part]:
    pair = ("priority by precedence", "CQ-AQM")
    wait = apart(data, "precedence", "classes.voice.p99_delay_ms", pair, {"rate": "8Mbit"})
    lost = apart(data, "precedence", "classes.voice.loss", pair, NARROW, 100)
    return [
        rests("other voice at 8 Mbit/s, by precedence less CQ-AQM", wait, 30, unit="ms"),
        rests("other voice lost at 6 Mbit/s", lost, 3, unit="points"),
    ]


PRECEDENCE = (
    Statement(
        "**CQ-AQM still does best here.** It loses nothing that is important, in either class, on "
        "a "
        "line that carries less than voice alone.",
        important,
    ),
    Statement(
        "Strict priority by precedence protects as well and needs no law. Its price: voice that is "
        "not important waits with the data, and loses more.",
        by_precedence,
    ),
    Statement(
        "**CAKE's tins are no precedences.** The voice tin is held to a quarter of the line and "
        "drops important and other packets alike. What it buys is the data's goodput.",
        tins,
    ),
)


def frozen(data: Data) -> list[Part]:
    return [
        rests(
            f"low, {name}, strict priority less ASPQ",
            ways(data, LOW, "strict priority", "strict priority, ASPQ", case, 1e-6),
            0,
            unit="Mbit/s",
        )
        for name, case in (("0.5 s", SHORT), ("10 s", LONG))
    ]


def guaranteed(data: Data) -> list[Part]:
    who = "htb, 5 % for the background"
    gain = ways(data, LOW, who, "strict priority", LONG, 1e-6)
    price = ways(data, HIGH, who, "strict priority", LONG)
    return [
        rests("low, 10 s, htb less strict priority", gain, 0.05, unit="Mbit/s"),
        rests("high p99, 10 s", price, 100, unit="ms"),
    ]


def ledbat(data: Data) -> list[Part]:
    alone = ways(data, HIGH, "one queue, LEDBAT", "one queue", LONG)
    slow = ways(data, LOW, "strict priority, LEDBAT", "strict priority", LONG, 1e-6)
    return [
        rests("high p99 in one queue, LEDBAT less CUBIC", alone, -5, 5, "ms"),
        rests("low behind strict priority, LEDBAT less CUBIC", slow, high=-0.2, unit="Mbit/s"),
    ]


def prague(data: Data) -> list[Part]:
    alone = ways(data, HIGH, "one queue, Prague", "one queue", LONG)
    name, marked = "strict priority, Prague", "strict priority and marks, Prague"
    slow = ways(data, LOW, name, "strict priority", SHORT, 1e-6)
    slower = ways(data, LOW, marked, name, SHORT, 1e-6)
    return [
        rests("high p99 in one queue, Prague less CUBIC", alone, -5, 5, "ms"),
        rests("low behind strict priority, Prague less CUBIC", slow, high=-0.2, unit="Mbit/s"),
        rests("low, Prague with marks less without", slower, high=-1, unit="Mbit/s"),
    ]


BACKGROUND = (
    Statement(
        "**Strict priority alone is best, and a freeze costs.** Low-priority Linux senders use "
        "every "
        "pause by themselves; ASPQ takes some of it from them.",
        frozen,
    ),
    Statement(
        "A share of a twentieth, guaranteed by `htb`, gives the background a little more when high "
        "priority sends for long. High priority pays with a standing queue if it asks for more "
        "than "
        "the rest.",
        guaranteed,
    ),
    Statement(
        "**LEDBAT does not replace a second queue** beside traffic that fills the line: its "
        "packets "
        "still stand in front. Behind strict priority it only returns more slowly.",
        ledbat,
    ),
    Statement(
        "**Prague in a classic queue is no background sender.** In one queue high priority waits "
        "behind it as behind CUBIC. Behind strict priority it comes back more slowly. If that "
        "queue marks it as well, it hardly comes back within pauses of half a second.",
        prague,
    ),
)


def contract(data: Data) -> list[Part]:
    return [
        rests(f"gold, {who}", found, 5.8, 6.3, "Mbit/s")
        for who, found in measured(data, "profiles", {"WRED": GOLD, "RIO": GOLD}, {}, 1e-6)
    ]


def blind(data: Data) -> list[Part]:
    keys = {"DualPI2": GOLD, "CAKE, by flow": GOLD}
    return [
        *(
            rests(f"gold, {who}", found, 2, 3, "Mbit/s")
            for who, found in measured(data, "profiles", keys, {}, 1e-6)
        ),
        rests(
            "p99, DualPI2 less WRED",
            apart(data, "profiles", WAIT, ("DualPI2", "WRED"), {}),
            high=-30,
            unit="ms",
        ),
    ]


def tree(data: Data) -> list[Part]:
    keys = {"gold": GOLD, "silver": SILVER}
    least = {"gold": 6.0, "silver": 2.0}
    return [
        *(
            rests(
                f"{who}, htb",
                data.interval("profiles", key, of("htb, 6 and 2", {}), scale=1e-6),
                least[who],
                unit="Mbit/s",
            )
            for who, key in keys.items()
        ),
        rests(
            "p99, htb less WRED",
            apart(data, "profiles", WAIT, ("htb, 6 and 2", "WRED"), {}),
            high=-30,
            unit="ms",
        ),
    ]


PROFILES = (
    Statement(
        "**WRED and RIO keep the contract** with one queue and no state in the router: the edge "
        "marks, "
        "and what is out of profile goes first.",
        contract,
    ),
    Statement(
        "DualPI2 and CAKE by flow wait a third to a half less and know nothing of contracts: "
        "twelve "
        "flows get "
        "three times what four get.",
        blind,
    ),
    Statement(
        "**`htb` does it best**: both customers get what they bought and what is left in "
        "proportion, at half of the delay. Its price is a class for each customer in the router.",
        tree,
    ),
)


def found(_: Data) -> str:
    """The page's beginning."""
    return TEXT["found"]
