// A guided story: the text of its step beside the picture, and the address that leads there.

import { button, make } from "./style.js";

/** @import { Stage, Story, StoryPlace, StoryStep } from "./messages.js" */

export class StoryPanel {
  #host;
  #body;
  #tell;
  #onStep;
  /** @type {Story[]} */
  #stories = [];
  /** @type {StoryPlace | null} */
  #now = null;
  /** @type {number | null} */
  #until = null;

  /**
   * @param {HTMLElement} host
   * @param {HTMLElement} body
   * @param {(name: string, step: number) => void} tell asks the server for a step
   * @param {(step: StoryStep | null) => void} onStep hears of the step that is told
   */
  constructor(host, body, tell, onStep) {
    this.#host = host;
    this.#body = body;
    this.#tell = tell;
    this.#onStep = onStep;
    addEventListener("hashchange", () => this.#follow());
  }

  get stories() {
    return this.#stories;
  }

  get told() {
    return this.#now;
  }

  /** @param {Stage} stage */
  setStage(stage) {
    const first = !this.#stories.length;
    this.#stories = stage.stories;
    const now = stage.story;
    const changed = now?.name !== this.#now?.name || now?.step !== this.#now?.step;
    this.#now = now;
    if (first && this.#follow()) return;
    if (changed || first) this.#draw();
  }

  /**
   * Whether playing has come to the end of the step.
   * @param {number} nowNs
   * @param {boolean} playing
   */
  setTime(nowNs, playing) {
    const ready = this.#until !== null && nowNs >= this.#until && !playing;
    this.#host.querySelector(".next")?.classList.toggle("ready", ready);
  }

  /** @param {number} by steps */
  go(by) {
    const story = this.#story;
    if (!story || !this.#now) return;
    const step = this.#now.step + by;
    if (step in story.steps) this.#tell(story.name, step);
  }

  /** The story that is told. */
  get #story() {
    return this.#stories.find(each => each.name === this.#now?.name) ?? null;
  }

  /** Go where the address says, if that is another step. */
  #follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const story = this.#stories.find(each => each.name === asked.get("story"));
    const step = Number(asked.get("step") ?? 1) - 1;
    if (!story || !(step in story.steps)) return false;
    if (this.#now?.name === story.name && this.#now.step === step) return false;
    this.#tell(story.name, step);
    return true;
  }

  #leave() {
    this.#now = null;
    this.#draw();
  }

  #draw() {
    const story = this.#story;
    this.#host.hidden = !story;
    this.#body.classList.toggle("with-story", story !== null);
    if (!story || !this.#now) {
      this.#until = null;
      if (location.hash.includes("story=")) {
        history.replaceState(null, "", location.pathname + location.search);
      }
      this.#onStep(null);
      return;
    }
    const number = this.#now.step;
    const step = story.steps[number];
    this.#until = step.until_ns;
    const last = number === story.steps.length - 1;
    const links = story.steps.map(({ title }, place) => {
      const link = make(
        "a",
        { href: address(story, place), title, "aria-label": `Step ${place + 1}: ${title}` },
        String(place + 1),
      );
      if (place === number) link.setAttribute("aria-current", "step");
      return make("li", {}, link);
    });
    const text = make("div", { className: "text" });
    for (const paragraph of step.text.trim().split(/\n\s*\n/)) text.append(marked(paragraph));
    this.#host.replaceChildren(
      make("p", { className: "eyebrow" }, story.title),
      make("h2", { id: "story-title" }, step.title),
      ...(number === 0 ? [make("p", { className: "small" }, story.question)] : []),
      text,
      make(
        "nav",
        { "aria-label": "Steps of the story" },
        button("Back", () => this.go(-1), { className: "previous", disabled: number === 0 }),
        make("ol", {}, ...links),
        button(last ? "The end" : "Next", () => this.go(1), { className: "next", disabled: last }),
      ),
      make(
        "div",
        { className: "again" },
        button("Play it", () => this.go(0), { className: "plain" }),
        button("Leave the story", () => this.#leave(), { className: "plain" }),
      ),
    );
    history.replaceState(null, "", address(story, number));
    this.#onStep(step);
  }
}

/**
 * @param {Story} story
 * @param {number} place of the step
 */
const address = (story, place) => `#story=${story.name}&step=${place + 1}`;

/**
 * A paragraph with `code` and *emphasis*.
 * @param {string} text
 */
function marked(text) {
  const paragraph = make("p");
  for (const words of text.split(/(`[^`]+`|\*[^*]+\*)/)) {
    if (/^`.+`$/.test(words)) paragraph.append(make("code", {}, words.slice(1, -1)));
    else if (/^\*.+\*$/.test(words)) paragraph.append(make("em", {}, words.slice(1, -1)));
    else paragraph.append(words.replace(/\s+/g, " "));
  }
  return paragraph;
}
