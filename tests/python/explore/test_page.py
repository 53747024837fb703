"""The page of `forebay explore`: every control acts, by mouse and by keyboard."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import forebay
from explore.browser import FASTEST, Server, Tab, serving


def drawn(tab: Tab, place: int = 0) -> str:
    """The picture of a lane, as it is now."""
    image: str = tab.page.locator(".lane canvas").nth(place).evaluate("it => it.toDataURL()")
    return image


def test_time_obeys(tab: Tab) -> None:
    assert tab.now_s == 0 and not tab.playing
    tab.click("#play")
    tab.wait("() => Number(document.querySelector('#clock b').textContent) > 0.3")
    assert tab.playing
    tab.pause()
    there = tab.now_s
    tab.click("#step")
    tab.wait("at => Number(document.querySelector('#clock b').textContent) > at", there)
    assert tab.now_s < there + 0.1
    tab.seek(5)
    picture = drawn(tab)
    tab.click("#back")
    tab.wait("() => Number(document.querySelector('#clock b').textContent) === 4")
    tab.seek(5)
    tab.page.wait_for_timeout(400)
    assert drawn(tab) == drawn(tab), "a picture that stands moves"
    assert picture
    tab.speed(FASTEST)
    expect(tab.page.locator("#speed-text")).to_contain_text("as fast as it goes")
    tab.click("#play")
    tab.wait("() => Number(document.querySelector('#clock b').textContent) === 20")


def test_packets_move_and_a_standing_picture_stands(tab: Tab) -> None:
    tab.seek(5)
    tab.page.wait_for_timeout(400)
    standing = drawn(tab)
    tab.page.wait_for_timeout(200)
    assert drawn(tab) == standing
    tab.speed("-10")
    tab.click("#play")
    another = "known => !known.includes(document.querySelector('.lane canvas').toDataURL())"
    tab.wait(another, [standing], 10)
    tab.wait(another, [standing, drawn(tab)], 10)
    assert drawn(tab, 0) != drawn(tab, 1)


def test_series_are_chosen_and_have_values(tab: Tab) -> None:
    # Charts out of sight are not drawn.
    tab.page.set_viewport_size({"width": 1360, "height": 2800})
    tab.seek(5)
    sections = tab.page.locator("#charts .measure")
    tab.show_series()
    expect(sections).to_have_count(6)
    names = ["delay", "queue", "throughput", "drops", "cwnd", "variables"]
    assert [each.get_attribute("data-name") for each in sections.all()] == names
    tab.wait(
        "() => /fifo\\s*\\d/.test(document.querySelector('.measure[data-name=queue]').innerText)"
    )
    for name in ("delay", "throughput", "cwnd"):
        values = tab.page.locator(f".measure[data-name={name}] .values").first
        assert "upload" in values.inner_text() and any(map(str.isdigit, values.inner_text()))
    assert "by the rule" in tab.page.locator(".measure[data-name=drops]").inner_text()
    assert "count" in tab.page.locator(".measure[data-name=variables]").inner_text()
    tab.page.locator("#toggles button").first.click()
    expect(sections).to_have_count(5)
    tab.page.locator("#window").select_option("inf")


def test_titles_say_what_the_series_are_of_and_values_when_they_were(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 1360, "height": 2800})
    tab.seek(3)
    tab.show_series()
    tab.show_changes()
    for name in ("throughput", "cwnd"):
        expect(tab.page.locator(f".measure[data-name={name}] h3")).to_contain_text("by flow")
    for flows in range(4, 10):
        tab.click("#join")
        expect(tab.page.locator("#legend [role=listitem]")).to_have_count(flows)
    for name in ("throughput", "cwnd"):
        expect(tab.page.locator(f".measure[data-name={name}] h3")).to_contain_text("by class")
    expect(tab.page.locator(".measure[data-name=queue] .values small")).to_have_text("at 3.000 s")


def test_links_and_parameters_change(tab: Tab) -> None:
    tab.seek(3)
    tab.show_changes()
    rate = tab.page.get_by_label("rate", exact=True).first
    expect(rate).to_have_value("2Mbit")
    rate.fill("1Mbit")
    rate.press("Enter")
    expect(tab.page.locator("#change summary").last).to_contain_text("(1)")
    assert "1Mbit" in tab.page.locator("#change details").last.inner_text()
    slider = tab.page.locator("#change input[type=range]").first
    slider.focus()
    slider.press("ArrowRight")
    tab.wait("() => !document.querySelector('#change input[type=text]').value.startsWith('1Mbit')")
    target = tab.page.get_by_label("target", exact=True).first
    target.fill("15ms")
    target.press("Enter")
    tab.wait("() => /target = 15ms/.test(document.querySelector('#change').innerText)")
    recorded = tab.recorded()
    tab.page.get_by_role("button", name="Take back").first.click()
    expect(tab.page.locator("#change summary").last).to_contain_text(f"({recorded - 1})")


def test_answers_to_something_else_leave_what_is_being_typed(tab: Tab) -> None:
    tab.show_changes()
    tab.page.get_by_label("target", exact=True).first.select_text()
    for typed, traffic in (("1", 4), ("5ms", 5)):
        tab.page.locator("#join").dispatch_event("click")
        expect(tab.page.locator("#legend [role=listitem]")).to_have_count(traffic)
        tab.page.keyboard.type(typed)
    tab.press("Enter")
    tab.wait("() => /target = 15ms/.test(document.querySelector('#change').innerText)")
    assert tab.recorded() == 3


def test_a_slider_can_be_dragged(tab: Tab) -> None:
    tab.show_changes()
    slider = tab.page.locator("#change input[type=range]").first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    mouse, y = tab.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + 0.2 * box["width"], y)
    mouse.down()
    for tenth in (3, 5, 8):
        mouse.move(box["x"] + 0.1 * tenth * box["width"], y)
        tab.page.wait_for_timeout(300)  # the server has answered with the whole stage
        assert abs(float(slider.input_value()) / 200 - 0.1 * tenth) < 0.1
    mouse.up()
    expect(tab.page.locator("#change summary").last).not_to_contain_text("(0)")


def test_another_queue_is_shown(tab: Tab) -> None:
    tab.seek(3)
    tab.show_changes()
    tab.page.locator("#watched").select_option("uplink-reverse")
    tab.wait("() => /^0 p/.test(document.querySelector('.now dd').innerText)")
    tab.show_changes()
    expect(tab.page.locator("#watched")).to_have_value("uplink-reverse")
    assert tab.now_s == 3
    tab.page.locator("#watched").select_option("uplink")
    tab.wait("() => !/^0 p/.test(document.querySelector('.now dd').innerText)")


def test_a_wrong_value_is_said_where_it_stands(tab: Tab) -> None:
    tab.show_changes()
    rate = tab.page.get_by_label("rate", exact=True).first
    rate.fill("fast")
    rate.press("Enter")
    wrong = tab.page.locator("#change .wrong", has_text="fast").first
    expect(wrong).to_have_text('expected a rate such as "10Mbit", got "fast"')
    expect(rate).to_have_attribute("aria-invalid", "true")
    target = tab.page.get_by_label("target", exact=True).first
    interval = tab.page.get_by_label("interval", exact=True).first
    interval.fill("1ms")
    interval.press("Enter")
    wrong = tab.page.locator("#change .wrong", has_text="1ms").first
    expect(wrong).to_have_text('target must be below interval ("1ms"), got "5ms"')
    expect(target).to_have_value("5ms")
    assert tab.recorded() == 0
    tab.click("#play")
    tab.wait("() => Number(document.querySelector('#clock b').textContent) > 0.2")


def test_traffic_joins_bursts_and_leaves(tab: Tab) -> None:
    tab.seek(3)
    tab.show_changes()
    tab.page.locator("#joiner").select_option("A constant stream of 2 Mbit/s")
    tab.click("#join")
    expect(tab.page.locator("#legend [role=listitem]")).to_have_count(4)
    for wrong in ("-3", "0", "1.5", "many", "100001"):
        tab.page.locator("#burst-packets").fill(wrong)
        tab.click("#burst")
        expect(tab.page.locator("#burst-wrong")).to_have_text(
            "Must be a whole number, 1 to 100,000."
        )
    tab.page.locator("#burst-packets").fill("50")
    tab.click("#burst")
    expect(tab.page.locator("#legend [role=listitem]")).to_have_count(5)
    upload = tab.page.get_by_role("button", name="upload leaves", exact=True)
    upload.click()
    expect(upload).to_be_disabled()
    assert tab.recorded() == 3


def test_disciplines_are_exchanged_added_and_removed(tab: Tab) -> None:
    tab.seek(2)
    tab.show_changes()
    kinds = {each.get_attribute("value") for each in tab.page.locator("#kind-more option").all()}
    assert {"cp-aqm", "cq-aqm", "ncq", "aspq", "wred", "fifo", "codel", "fq-codel", "pie"} <= kinds
    tab.page.locator("#kind-more").select_option("cp-aqm")
    tab.click("#add-lane")
    expect(tab.page.locator(".lane")).to_have_count(3)
    expect(tab.page.locator(".lane h2").nth(2)).to_contain_text("cp-aqm")
    tab.show_changes()
    for kind in ("pie", "fifo"):
        tab.page.locator("#change select[id^=kind-]").first.select_option(kind)
        tab.wait("it => document.querySelector('.lane h2').textContent.includes(it)", kind)
        tab.show_changes()
    for count in (2, 1):
        tab.page.get_by_role("button", name="Remove").last.click()
        expect(tab.page.locator(".lane")).to_have_count(count)
    tab.page.locator("#kind-more").select_option("codel")
    for count in (2, 3, 4):
        tab.click("#add-lane")
        expect(tab.page.locator(".lane")).to_have_count(count)
    expect(tab.page.locator(".lane h2")).to_have_text(["fifo", "codel", "codel (2)", "codel (3)"])
    for count in (3, 2):
        tab.page.get_by_role("button", name="Remove").last.click()
        expect(tab.page.locator(".lane")).to_have_count(count)


def test_a_discipline_that_is_refused_is_not_shown_as_chosen(tab: Tab) -> None:
    tab.show_changes()
    select = tab.page.locator("#change select[id^=kind-]").first
    offered = {each.get_attribute("value") for each in select.locator("option").all()}
    assert not offered & {"kernel", "aspq", "none"}
    select.evaluate("it => it.append(new Option('aspq'))")
    select.select_option("aspq")
    expect(tab.page.locator("#said")).to_contain_text("add aspq as a lane")
    expect(select).to_have_value("fifo")


def test_a_packet_tells_its_story(tab: Tab) -> None:
    tab.seek(5)
    tab.page.wait_for_timeout(400)
    picture = tab.page.locator(".lane canvas").first
    picture.focus()
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        picture.press(key)
    dialog = tab.page.locator("dialog")
    expect(dialog).to_contain_text("Sent by home")
    expect(dialog).to_contain_text("Joins the queue of uplink")
    expect(dialog).to_contain_text("It is still under way")
    tab.press("Escape")
    expect(dialog).to_be_hidden()
    size = picture.bounding_box()
    assert size is not None
    for share in (0.55, 0.6, 0.65, 0.7, 0.5):
        picture.click(position={"x": size["width"] * 0.8, "y": size["height"] * share})
        # The server sends the story, if a packet was hit.
        with contextlib.suppress(AssertionError):
            expect(dialog).to_be_visible(timeout=2000)
            break
    expect(dialog).to_contain_text("Packet")


def test_what_is_saved_repeats_the_run(tab: Tab, folder: Path) -> None:
    tab.seek(3)
    tab.show_changes()
    rate = tab.page.get_by_label("rate", exact=True).first
    rate.fill("3Mbit")
    rate.press("Enter")
    expect(tab.page.locator("#change summary").last).to_contain_text("(1)")
    tab.seek(20)
    tab.click("#save")
    dialog = tab.page.locator("dialog")
    expect(dialog).to_contain_text("forebay run")
    sections = dialog.locator("section").all()
    assert len(sections) == 2
    for section in sections:
        path = section.locator("code").first.inner_text()
        shown = section.locator(".fingerprint").inner_text()
        done = subprocess.run(
            [sys.executable, "-m", "forebay", "run", path, "--json"],
            capture_output=True, cwd=folder, check=True, text=True,
        )  # fmt: skip
        assert f'"fingerprint": "{shown}"' in done.stdout
        saved = forebay.load(folder / path)
        assert saved.document["change"]


def test_compare_and_report(tab: Tab) -> None:
    tab.click("#compare")
    table = tab.page.locator("#compared table")
    expect(table).to_be_visible(timeout=60_000)
    heads = [each.inner_text() for each in table.locator("thead th").all()]
    assert heads[2:] == ["fifo", "codel"]
    assert "±" in table.inner_text() and table.locator("td.best").count() > 0
    expect(tab.page.locator("#compared .card")).to_contain_text("tart with codel")
    with tab.page.context.expect_page() as opened:
        tab.click("#report")
    report = opened.value
    report.wait_for_url("**/report", timeout=60_000)
    expect(report.locator("h1")).to_contain_text("Calls beside uploads")
    report.close()


def test_a_click_on_a_spike_asks_why(tab: Tab) -> None:
    tab.seek(7.5)
    over = tab.page.locator('.measure[data-name="queue"] .u-over')
    expect(over).to_be_visible(timeout=20_000)
    box = over.bounding_box()
    assert box is not None
    over.click(position={"x": 0.4 * box["width"], "y": box["height"] / 2})
    dialog = tab.page.locator("#dialog")
    expect(dialog).to_contain_text("Why packets waited under", timeout=60_000)
    expect(dialog).to_contain_text("The same run without")


def test_a_reload_and_a_second_tab_see_the_same(tab: Tab, server: Server) -> None:
    tab.seek(7.5)
    tab.show_changes()
    rate = tab.page.get_by_label("rate", exact=True).first
    rate.fill("4Mbit")
    rate.press("Enter")
    expect(tab.page.locator("#change summary").last).to_contain_text("(1)")
    second = Tab(tab.page.context.new_page())
    for other in (tab, second):
        other.open(server.address)
        other.wait("() => Number(document.querySelector('#clock b').textContent) === 7.5")
        other.show_changes()
        assert other.recorded() == 1
        expect(other.page.get_by_label("rate", exact=True).first).to_have_value("4Mbit")
        assert other.page.locator(".uplot").count() > 0
    second.click("#play")
    tab.wait("() => Number(document.querySelector('#clock b').textContent) > 7.6")
    second.pause()
    second.page.close()
    assert second.errors == []


def test_a_server_that_ends_is_said_and_found_again(chromium: Browser, folder: Path) -> None:
    context = chromium.new_context()
    with serving(folder, "home.toml") as server:
        tab = Tab(context.new_page())
        tab.open(server.address)
        expect(tab.page.locator("#said")).to_be_empty()
    expect(tab.page.locator("#said")).to_contain_text("The server does not answer")
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(tab: Tab, scheme: str) -> None:
    tab.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    brightness = "() => Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"
    light = tab.page.evaluate(brightness) > 128
    assert light == (scheme == "light")
    tab.click("#theme")
    assert (tab.page.evaluate(brightness) > 128) != light
    tab.page.reload()
    tab.wait("() => document.querySelector('.lane')")
    assert (tab.page.evaluate(brightness) > 128) != light, "it is forgotten"
    tab.click("#theme")
    assert (tab.page.evaluate(brightness) > 128) == light


def test_words_stay_whole_and_the_delay_is_in_sight(tab: Tab) -> None:
    tab.seek(3)
    clipped = """() => [...document.querySelectorAll(".now dt")]
        .filter(each => each.scrollWidth > each.clientWidth).length"""
    for opened in (False, True):
        for width, height in ((390, 844), (768, 1024), (1280, 900), (1920, 1080)):
            tab.page.set_viewport_size({"width": width, "height": height})
            assert tab.page.evaluate(clipped) == 0 and tab.broken_words() == [], (width, opened)
            # The numbers stand in full rows.
            rows = tab.page.locator(".now").first.evaluate(
                "it => [...it.children].map(each => each.offsetTop)"
            )
            assert len({rows.count(each) for each in rows}) == 1, (width, rows)
            if (width, height, opened) == (1280, 900, False):
                box = tab.page.locator(".measure[data-name=delay] .chart").first.bounding_box()
                assert box is not None and box["y"] + box["height"] <= height
        if not opened:
            tab.show_changes()


def test_the_direction_is_said(tab: Tab) -> None:
    expect(tab.page.locator("#direction")).to_have_text("Queue of uplink: home → internet")
    expect(tab.page.locator(".measure[data-name=throughput] h3")).to_contain_text("both directions")


def test_names_of_hosts_stay_within_the_picture(tab: Tab) -> None:
    drawn_ends = """async width => {
        const { Network } = await import(new URL("static/network.js", document.baseURI));
        const pen = document.createElement("canvas").getContext("2d");
        const ends = [];
        pen.fillText = (name, x) => {
            const half = pen.measureText(name).width / 2;
            ends.push(x - half, x + half);
        };
        const names = ["a-home-behind-a-router", "content-delivery-servers"];
        const nodes = names.map((name, x) => ({ name, x, y: 0.5 }));
        new Network().draw(pen, { nodes, links: [] }, new Map(), width, 1, () => {});
        return ends;
    }"""
    ends = tab.page.evaluate(drawn_ends, 400)
    assert len(ends) == 4 and min(ends) >= 0 and max(ends) <= 400


def test_packets_have_one_size_in_all_lanes(tab: Tab) -> None:
    holding = """most => import(new URL("static/capacity.js", document.baseURI)).then(it => {
        const lanes = [200, 1000].map(limit => ({
            lane: { queue: { limit: `${limit}p` }, limit_bytes: null, limit_packets: null },
            queues: [{ id: 0 }],
        }));
        return it.holding(lanes, 1500 * most) / 1500;
    })"""
    # As much as the first that is full, until more has waited in another.
    assert tab.page.evaluate(holding, 10) == 20
    assert tab.page.evaluate(holding, 190) == 200
    assert tab.page.evaluate(holding, 210) == 320
    assert tab.page.evaluate(holding, 900) == 1000
