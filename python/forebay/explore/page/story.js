// A guided story: the text of its step beside the picture, and the address that leads there.

import { make } from "./style.js";

export class StoryPanel {
  #host;
  #body;
  #tell;
  #onStep;
  #stories = [];
  #now = null;
  #until = null;

  // `tell` asks the server for a step; `onStep` hears of the step that is told, or null.
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

  setStage(stage) {
    const first = !this.#stories.length;
    this.#stories = stage.stories;
    const now = stage.story;
    const changed = now?.name !== this.#now?.name || now?.step !== this.#now?.step;
    this.#now = now;
    if (first && this.#follow()) return;
    if (changed || first) this.#draw();
  }

  // Whether playing has come to the end of the step.
  setTime(nowNs, playing) {
    const ready = this.#until !== null && nowNs >= this.#until && !playing;
    this.#host.querySelector(".next")?.classList.toggle("ready", ready);
  }

  go(by) {
    if (!this.#now) return;
    const story = this.#stories.find(each => each.name === this.#now.name);
    const step = this.#now.step + by;
    if (step >= 0 && step < story.steps.length) this.#tell(story.name, step);
  }

  again() {
    if (this.#now) this.#tell(this.#now.name, this.#now.step);
  }

  // Go where the address says, if that is another step.
  #follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const story = this.#stories.find(each => each.name === asked.get("story"));
    const step = Number(asked.get("step") ?? 1) - 1;
    if (!story || !(step in story.steps)) return false;
    if (this.#now?.name === story.name && this.#now.step === step) return false;
    this.#tell(story.name, step);
    return true;
  }

  #draw() {
    const story = this.#stories.find(each => each.name === this.#now?.name);
    this.#host.hidden = !story;
    this.#body.classList.toggle("with-story", Boolean(story));
    if (!story) {
      this.#until = null;
      if (location.hash.includes("story="))
        history.replaceState(null, "", location.pathname + location.search);
      this.#onStep(null);
      return;
    }
    const number = this.#now.step;
    const step = story.steps[number];
    this.#until = step.until_ns;
    const last = number === story.steps.length - 1;
    const link = (each, place) => {
      const a = make(
        "a",
        { href: `#story=${story.name}&step=${place + 1}`, title: each.title },
        String(place + 1),
      );
      a.setAttribute("aria-label", `Step ${place + 1}: ${each.title}`);
      if (place === number) a.setAttribute("aria-current", "step");
      return make("li", {}, a);
    };
    const button = (label, act, className = "", off = false) => {
      const found = make("button", { type: "button", className, disabled: off }, label);
      found.addEventListener("click", act);
      return found;
    };
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
        button("Back", () => this.go(-1), "previous", number === 0),
        make("ol", {}, ...story.steps.map(link)),
        button(last ? "The end" : "Next", () => this.go(1), "next", last),
      ),
      make(
        "div",
        { className: "again" },
        button("Play it", () => this.again(), "plain"),
        button(
          "Leave the story",
          () => {
            this.#now = null;
            this.#draw();
          },
          "plain",
        ),
      ),
    );
    history.replaceState(null, "", `#story=${story.name}&step=${number + 1}`);
    this.#onStep(step);
  }
}

// A paragraph with `code` and *emphasis*.
function marked(text) {
  const paragraph = make("p");
  for (const part of text.split(/(`[^`]+`|\*[^*]+\*)/)) {
    if (/^`.+`$/.test(part)) paragraph.append(make("code", {}, part.slice(1, -1)));
    else if (/^\*.+\*$/.test(part)) paragraph.append(make("em", {}, part.slice(1, -1)));
    else paragraph.append(part.replace(/\s+/g, " "));
  }
  return paragraph;
}
