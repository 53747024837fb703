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
        rests("unmarked game, FQ-CoDel minus NCQ", first, 1, 5, "ms"),
        rests("DualPI2 minus NCQ", dual, 20, 40, "ms"),
    ]


def often(data: Data) -> list[Part]:
    found = apart(data, "small", GAME, ("NCQ", "FQ-CoDel"), OFTEN)
    return [rests("four times as often, NCQ minus FQ-CoDel", found, 80, unit="ms")]


def marked(data: Data) -> list[Part]:
    found = apart(data, "small", GAME, ("NQB", "NCQ"), MARKED)
    return [rests("marked game, NQB minus NCQ", found, -0.01, 0.01, "ms")]


def flooded(data: Data) -> list[Part]:
    lost = measured(data, "small", {"NQB": "classes.game.loss"}, FLOOD, 100)
    saved = apart(data, "small", BULK, ("FQ-CoDel", "NCQ"), FLOOD, 1e-6)
    safe = measured(data, "small", {"NQB, protected": "classes.game.loss"}, FLOOD, 100)
    return [
        *(rests(f"game lost, {who}", found, 30, 60, "%") for who, found in lost),
        *(rests(f"game lost, {who}", found, high=0.1, unit="%") for who, found in safe),
        rests("bulk, FQ-CoDel minus NCQ", saved, 4, unit="Mbit/s"),
    ]


def disguised_as_l4s(data: Data) -> list[Part]:
    dual = of("DualPI2", L4S_FLOOD), of("DualPI2", FLOOD)
    same = data.difference("small", BULK, *dual, scale=1e-6)
    game = measured(data, "small", {"DualPI2": GAME, "NQB": GAME}, L4S_FLOOD, 1)
    return [
        rests("bulk in DualPI2, flood with ECT(1) minus with NQB", same, -0.3, 0.3, "Mbit/s"),
        *(
            rests(f"game, {who}, flood with ECT(1)", found, high=25, unit="ms")
            for who, found in game
        ),
    ]


SMALL = (
    Statement(
        "**NCQ is still best if nobody marks and small packets are few:** an unmarked game has a "
        "shorter delay than in FQ-CoDel, and a much shorter one than in the classic queue of "
        "DualPI2.",
        unmarked,
    ),
    Statement(
        "**It fails if they are not few.** With four times as many packets, the game exceeds "
        "NCQ's share, and its packets wait with the others.",
        often,
    ),
    Statement("With marks, NQB does as well as NCQ.", marked),
    Statement(
        "**Marks are believed, even false ones.** In NQB, a flood that carries the mark causes "
        "the loss of about half of the game's packets, unless queue protection moves the flood "
        "away. Fair queues need neither marks nor trust, and leave the most for the bulk "
        "transfers.",
        flooded,
    ),
    Statement(
        "A flood with ECT(1) gets into the low-latency queue of DualPI2 like one with the NQB "
        "mark, and takes as much from the bulk transfers. NQB ignores ECT(1).",
        disguised_as_l4s,
    ),
)


def port(data: Data) -> list[Part]:
    found = apart(data, "police", HONEST, ("CP-AQM", "FIFO"), GREEDY, 1e-6)
    return [rests("honest, CP-AQM minus FIFO", found, high=0, unit="Mbit/s")]


def by_flow(data: Data) -> list[Part]:
    gain = apart(data, "police", HONEST, ("CP-AQM by flow", "CP-AQM"), GREEDY, 1e-6)
    near = apart(data, "police", HONEST, ("FQ-CoDel", "CP-AQM by flow"), GREEDY, 1e-6)
    wait = apart(data, "police", CALL, ("CP-AQM by flow", "FQ-CoDel"), GREEDY)
    return [
        rests("honest, by flow minus CP-AQM", gain, 5, unit="Mbit/s"),
        rests("FQ-CoDel minus by flow", near, 0, 0.2, "Mbit/s"),
        rests("call, by flow minus FQ-CoDel", wait, 5, unit="ms"),
    ]


def protected(data: Data) -> list[Part]:
    call = apart(data, "police", CALL, ("NQB, protected", "NQB"), DISGUISED)
    honest = apart(data, "police", HONEST, ("NQB, protected", "FIFO"), GREEDY, 1e-6)
    return [
        rests("call, protected minus not protected", call, high=-10, unit="ms"),
        rests("honest, protected NQB minus FIFO", honest, -0.5, 0.5, "Mbit/s"),
    ]


POLICE = (
    Statement(
        "CP-AQM as its authors describe it, with one bucket for the port, does not help honest "
        "senders. The one that does not yield keeps its rate, as with a plain buffer.",
        port,
    ),
    Statement(
        "**A bucket for each flow does.** Honest senders get nearly what fair queues give them, "
        "from one short queue in order of arrival. The price is the delay of the call.",
        by_flow,
    ),
    Statement(
        "**Queue protection protects a queue, not senders.** It protects the call from a sender "
        "that marks falsely. It does not change what honest bulk transfers get.",
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
        rests("important voice lost, four tins minus CQ-AQM", voice, 50, unit="points"),
        rests("data at 12 Mbit/s, four tins minus CQ-AQM", goodput, 2, unit="Mbit/s"),
    ]


def by_precedence(data: Data) -> list[Part]:
    pair = ("priority by precedence", "CQ-AQM")
    wait = apart(data, "precedence", "classes.voice.p99_delay_ms", pair, {"rate": "8Mbit"})
    lost = apart(data, "precedence", "classes.voice.loss", pair, NARROW, 100)
    return [
        rests("other voice at 8 Mbit/s, by precedence minus CQ-AQM", wait, 30, unit="ms"),
        rests("other voice lost at 6 Mbit/s", lost, 3, unit="points"),
    ]


PRECEDENCE = (
    Statement(
        "**CQ-AQM is still best here.** It loses no important packet of either class, on a line "
        "that carries less than the voice alone.",
        important,
    ),
    Statement(
        "Strict priority by precedence protects as well and needs no such rule. Its price: voice "
        "that is not important waits with the data, and loses more.",
        by_precedence,
    ),
    Statement(
        "**CAKE's tins are not precedences.** The voice tin is held to a quarter of the line and "
        "drops important and other packets alike. In return, the data have more goodput.",
        tins,
    ),
)


def frozen(data: Data) -> list[Part]:
    return [
        rests(
            f"low, {name}, strict priority minus ASPQ",
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
        rests("low, 10 s, htb minus strict priority", gain, 0.05, unit="Mbit/s"),
        rests("high p99, 10 s", price, 100, unit="ms"),
    ]


def ledbat(data: Data) -> list[Part]:
    alone = ways(data, HIGH, "one queue, LEDBAT", "one queue", LONG)
    slow = ways(data, LOW, "strict priority, LEDBAT", "strict priority", LONG, 1e-6)
    return [
        rests("high p99 in one queue, LEDBAT minus CUBIC", alone, -5, 5, "ms"),
        rests("low behind strict priority, LEDBAT minus CUBIC", slow, high=-0.2, unit="Mbit/s"),
    ]


def prague(data: Data) -> list[Part]:
    alone = ways(data, HIGH, "one queue, Prague", "one queue", LONG)
    name, marked = "strict priority, Prague", "strict priority and marks, Prague"
    slow = ways(data, LOW, name, "strict priority", SHORT, 1e-6)
    slower = ways(data, LOW, marked, name, SHORT, 1e-6)
    return [
        rests("high p99 in one queue, Prague minus CUBIC", alone, -5, 5, "ms"),
        rests("low behind strict priority, Prague minus CUBIC", slow, high=-0.2, unit="Mbit/s"),
        rests("low, Prague with marks minus without", slower, high=-1, unit="Mbit/s"),
    ]


BACKGROUND = (
    Statement(
        "**Strict priority alone is best, and a freeze has a cost.** Low-priority Linux senders "
        "use every pause by themselves, and ASPQ takes a part of it from them.",
        frozen,
    ),
    Statement(
        "A share of a twentieth, guaranteed by `htb`, gives the background a little more when "
        "high priority sends for a long time. High priority pays with a standing queue if it "
        "sends more than the rest of the link.",
        guaranteed,
    ),
    Statement(
        "**LEDBAT does not replace a second queue** beside traffic that fills the line: its "
        "packets are still in front of others. Behind strict priority, it only recovers more "
        "slowly.",
        ledbat,
    ),
    Statement(
        "**Prague in a classic queue is not a background sender.** In one queue, high priority "
        "waits behind it as behind CUBIC. Behind strict priority, it recovers more slowly. If "
        "that queue also marks its packets, it hardly recovers within pauses of half a second.",
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
            "p99, DualPI2 minus WRED",
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
            "p99, htb minus WRED",
            apart(data, "profiles", WAIT, ("htb, 6 and 2", "WRED"), {}),
            high=-30,
            unit="ms",
        ),
    ]


PROFILES = (
    Statement(
        "**WRED and RIO keep the contract** with one queue and no state in the router: the edge "
        "marks, and packets out of profile are dropped first.",
        contract,
    ),
    Statement(
        "DualPI2 and CAKE by flow have a third to a half less delay, and know nothing of "
        "contracts: twelve flows get three times what four get.",
        blind,
    ),
    Statement(
        "**`htb` is best**: both customers get what they bought and what is left in proportion, "
        "with half of the delay. Its price is a class for each customer in the router.",
        tree,
    ),
)


def found(_: Data) -> str:
    """The page's beginning."""
    return TEXT["found"]
