/*
 * What the server of `forebay explore` and its page send each other: JSON objects, each with a `type`.
 * protocol.py says what is meant by numbers, times and sizes, and checks what the page sends.
 */

/** What the server sends. */
export type Message = Stage | Frame | StoryOf | Said | Saved | Compared | Reported | Explained;

/** A discipline as a scenario writes it: its kind, or a table with `kind`. */
export type Queue = string | Record<string, unknown>;

/** What the page sends, by type: the fields beside it. protocol.py explains each of them. */
export interface Commands {
  play: Record<string, never>;
  pause: Record<string, never>;
  step: Record<string, never>;
  reset: Record<string, never>;
  save: Record<string, never>;
  report: Record<string, never>;
  speed: { factor: number | null };
  seek: { at_ns: number };
  lanes: { queues: Queue[] };
  watch: { link: string };
  change: { path: string; value: unknown; lane?: number | null };
  queue: { queue: Queue; lane: number };
  join: { traffic: Record<string, unknown> };
  leave: { traffic: number };
  burst: { packets?: number; size?: number; like?: number | null };
  forget: { change: number };
  ask: { lane: number; id: number };
  compare: { runs?: number };
  why: { lane: number; at_ns: number; loss?: boolean };
  story: { name: string; step: number };
  ack: { number: number };
}

/** Send a command; whether there is a connection. */
export type Send = <Type extends keyof Commands>(
  type: Type,
  ...fields: Record<string, never> extends Commands[Type]
    ? [fields?: Commands[Type]]
    : [fields: Commands[Type]]
) => boolean;

/** A field that may be changed while the scenario runs. */
export interface ScenarioField {
  /** As `change` takes it, such as "link.uplink.rate" or "dumbbell.queue.target". */
  path: string;
  /** Its last step, such as "target". */
  name: string;
  /**
   * How it is written. "limit" is packets ("30p") or bytes ("45KB"); "choice" is one of
   * `choices`; "value" anything else, as TOML writes it (lists, tables).
   */
  kind:
    | "rate"
    | "duration"
    | "limit"
    | "bytes"
    | "number"
    | "integer"
    | "boolean"
    | "choice"
    | "value";
  /** Unit of the numbers below: bit/s, s, B, p (packets); empty for plain numbers. */
  unit: string;
  /** What holds now, as a scenario writes it ("5ms"); null if it is not set. */
  value: unknown;
  /** The same in `unit`; null if it is no quantity, or not set. */
  number: number | null;
  /**
   * Range of a slider in `unit`, around what is usual; not the limits of what is allowed,
   * which the server says when it refuses. The slider is logarithmic where `low` is above 0.
   */
  low: number | null;
  high: number | null;
  /** As a scenario writes it; null if there is none. */
  default: unknown;
  /** What a "choice" may be. */
  choices: string[];
  /** What the field means: its documentation. */
  help: string;
}

/** A node of the picture. */
export interface Node {
  name: string;
  /** Where to draw it, 0 to 1 from left to right and from top to bottom. */
  x: number;
  y: number;
}

/** One direction of a link; `frame.moving` names links by their place in `stage.links`. */
export interface Link {
  name: string;
  /** Nodes. */
  source: string;
  target: string;
  /** Whether it is the reverse direction of the link before it. */
  reverse: boolean;
  /** null if it varies. */
  rate_bps: number | null;
  delay_s: number | null;
  /** Kind of its queue in the first lane; null: it never drops. */
  queue: string | null;
  /** Whether its queue is the one that is shown. */
  watched: boolean;
}

/** A class of traffic. */
export interface Class {
  id: number;
  name: string;
}

/** A flow, or all flows of a traffic entry that has many. */
export interface Flow {
  id: number;
  name: string;
  /** Place of its traffic entry in `stage.traffic`. */
  traffic: number;
  class_id: number;
  /** How many flows it stands for. */
  flows: number;
  transport: "tcp" | "datagrams";
  /** Whether its packets (not only acknowledgments) cross the watched link. */
  watched: boolean;
}

/** A traffic entry. */
export interface Traffic {
  id: number;
  name: string;
  kind: string;
  class_id: number;
  flows: number;
  /** Since when it takes part: 0, or the instant of its `join`. */
  joined_s: number;
  /** Since when it sends no more, if it was told to `leave`. */
  left_s: number | null;
}

/** One of the disciplines side by side. */
export interface Lane {
  id: number;
  label: string;
  /** Number of its colour, from 0. */
  colour: number;
  kind: string;
  /** The queue as a scenario writes it, every default filled in, with the `box` in front of it. */
  queue: Record<string, unknown>;
  /** Room in the watched queue, where it has one limit of this sort. */
  limit_packets: number | null;
  limit_bytes: number | null;
  /** Parameters of the discipline, to be changed with this lane's `id`. */
  fields: ScenarioField[];
}

/** A recorded change. */
export interface Change {
  id: number;
  at_s: number;
  /** In words, such as "dumbbell.rate = 5Mbit"; the lane's label is in it, if it is of one lane. */
  text: string;
}

/** A discipline to choose. */
export interface Kind {
  name: string;
  summary: string;
  source: string;
  /** Whether it is a box, which no lane gets while it runs: it can only be a lane that is added. */
  box: boolean;
}

/** A series over time. */
export type Measure = "queue" | "delay" | "throughput" | "drops" | "cwnd" | "variables";

/** A step of a guided story. */
export interface StoryStep {
  title: string;
  /** Paragraphs with an empty line between them, with `code` and *emphasis*. */
  text: string;
  /** The instants at which it begins and ends. */
  at_ns: number;
  until_ns: number;
  /** The series that are shown. */
  shows: Measure[];
  /** What to look at: lanes by label, series by name. */
  look: string[];
}

/** A guided story (`forebay._explore.stories`). */
export interface Story {
  name: string;
  title: string;
  question: string;
  steps: StoryStep[];
}

/** Where in a guided story the stage is. */
export interface StoryPlace {
  name: string;
  step: number;
}

/** All that does not move. */
export interface Stage {
  type: "stage";
  title: string;
  /** Name of the scenario's file. */
  scenario: string;
  duration_s: number;
  warmup_s: number;
  /** Time between two points of the series. */
  grain_s: number;
  /** Name of the link whose queue is shown; null: the scenario has no links. */
  watched: string | null;
  nodes: Node[];
  links: Link[];
  classes: Class[];
  flows: Flow[];
  traffic: Traffic[];
  lanes: Lane[];
  /** What may be changed of the links, for all lanes at once. */
  fields: ScenarioField[];
  kinds: Kind[];
  /** In order of time. */
  changes: Change[];
  stories: Story[];
  /** The step that is told; null: none. */
  story: StoryPlace | null;
}

/** A packet in the queue: id, flow, class, bytes, age in ns, 1 if it is marked (CE) and else 0. */
export type Waiting = [number, number, number, number, number, number];

/** The packet in transmission: id, flow, class, bytes, and how much of it is sent, 0 to 1. */
export type Sending = [number, number, number, number, number];

/** A packet that the watched queue dropped: id, flow, class, reason. */
export type Gone = [number, number, number, string];

/**
 * A packet under way: id (0: nothing is known of it yet), flow, class, bytes, place in
 * `stage.links` of the link that it is on (-1: on its way to its first queue), and how far it
 * has come, 0 to 1.
 */
export type Moving = [number, number, number, number, number, number];

/** A queue inside a discipline. */
export interface InnerQueue {
  /** Its number in the discipline. */
  id: number;
  /** Those that are served first, first. */
  packets: Waiting[];
  /** How many wait in it; more than `packets` has if the queue is long. */
  total: number;
  bytes: number;
}

/** What has been since the point before. */
export interface Point {
  /** End of the interval, in s. */
  t: number;
  /** What waits in the watched queue at its end. */
  packets: number;
  bytes: number;
  /** By class: mean one-way delay of the data packets delivered; null: there was none. */
  delay_ms: (number | null)[];
  /** By flow: delivered, in bits of IP packets. */
  bps: number[];
  /** By flow: congestion windows in bytes, their sum; null without an open connection. */
  cwnd: (number | null)[];
  /**
   * Packets that the watched queue dropped, by reason: overflow, aqm, preempted, policed,
   * pushed_out, redundant_ack, other.
   */
  dropped: Record<string, number>;
  /** Packets that it marked. */
  marked: number;
  /** The discipline's own, by name, at the end of the interval. */
  variables: Record<string, number>;
}

/** One lane now. */
export interface LaneFrame {
  id: number;
  /**
   * Those that hold packets; in order of service as far as the discipline can say, else of
   * their numbers.
   */
  queues: InnerQueue[];
  /** What waits in all of them. */
  total: number;
  bytes: number;
  sending: Sending | null;
  /** What the watched queue dropped since the last frame, the latest hundred. */
  gone: Gone[];
  moving: Moving[];
  /** Packets under way in all, the one in transmission included. */
  moving_total: number;
  /**
   * Number of the first of `points`: if it is not the number of points that the page has,
   * points from this number on are replaced (after a jump back).
   */
  first: number;
  points: Point[];
}

/** What moves. */
export interface Frame {
  type: "frame";
  /** To be given back in `ack`. */
  number: number;
  now_ns: number;
  playing: boolean;
  /** What was asked for: simulated seconds a second; null: as fast as it goes. */
  speed: number | null;
  /** What was reached of it lately; null while it does not play. */
  actual: number | null;
  /** Whether the scenario's end is reached. */
  complete: boolean;
  lanes: LaneFrame[];
}

/** One step of a packet's story. */
export interface Step {
  at_ns: number;
  what: "sent" | "queued" | "dropped" | "marked" | "transmitted" | "lost" | "delivered";
  /** Name of the link; empty at the ends of the way. */
  where: string;
  /** Of a drop or mark: its reason, in words; else empty. */
  why: string;
  /** Packets that waited in that queue, at `queued` and `dropped`. */
  waiting: number | null;
  /** The discipline's own variables when it decided; empty where nothing was decided. */
  variables: Record<string, number>;
}

/** A packet's story, as far as it has come. */
export interface StoryOf {
  type: "story_of";
  lane: number;
  id: number;
  flow: number;
  class_id: number;
  bytes: number;
  kind: "data" | "ack" | "control";
  ended: boolean;
  /** Empty if it is so long ago that nothing is kept of it. */
  steps: Step[];
}

/** What to show where the person looks. */
export interface Said {
  type: "said";
  level: "info" | "warning" | "error";
  text: string;
  /** Path of the field that it is about. */
  field: string | null;
}

/** The scenario of one lane with its changes. */
export interface SavedFile {
  lane: number;
  /** Where it was written, on this machine. */
  path: string;
  /** What `forebay run` repeats. */
  text: string;
  /** That of the run, if it is complete: `forebay run` ends with the same. */
  fingerprint: string | null;
}

/** Answer to `save`. */
export interface Saved {
  type: "saved";
  files: SavedFile[];
}

/** A measure's mean over the replications, and its interval. */
export interface ComparedCell {
  /** The mean, or a dash. */
  text: string;
  /** Half the width of its interval, and the sign of what is distorted; may be empty. */
  note: string;
  /** How it is beside the best of its row, as `Compared.marked` says. */
  mark: "" | "best" | "open";
}

/** A measure of a class. */
export interface ComparedRow {
  class_name: string;
  /** Its title with its unit, such as "mean delay (ms)". */
  measure: string;
  /** By lane. */
  cells: ComparedCell[];
}

/** Benefit or price of what is recommended. */
export interface ComparedList {
  title: string;
  sentences: string[];
}

/** What the comparison recommends, in the words of `forebay compare`. */
export interface ComparedAdvice {
  headline: string;
  why: string;
  beside: ComparedList[];
}

/** Answer to `compare`: first with `done` below 1 and no rows, again and again; then whole. */
export interface Compared {
  type: "compared";
  /** Share of the runs that have ended; below 0: it was left, or has failed. */
  done: number;
  /** Replications of each lane. */
  runs: number;
  /** Labels. */
  lanes: string[];
  rows: ComparedRow[];
  /** Absent until the comparison is whole. */
  advice: ComparedAdvice | null;
  /** What the marks of the cells mean; empty until the comparison is whole. */
  marked: string;
}

/** Answer to `report`: first with `done` below 1 and no address, then with it. */
export interface Reported {
  type: "reported";
  done: number;
  /** To be opened beside the page; it has the token in it. */
  address: string | null;
}

/** Answer to `why`: first with `done` below 1 and no parts, then with them. */
export interface Explained {
  type: "explained";
  title: string;
  done: number;
  /**
   * Sentences on what was seen; the cause, and what else is shown; every rerun without something;
   * other disciplines.
   */
  parts: string[][];
}
