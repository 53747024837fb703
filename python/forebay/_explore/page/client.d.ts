/*
 * How the page speaks with a stage: with that of the local server through a WebSocket (live.js), or
 * with one in a worker of the page (crates/web/js/live.js).
 */

import type { Message, Send } from "./messages.js";

/** A function for each type of message. */
export type Handlers = {
  [Type in Message["type"]]: (message: Extract<Message, { type: Type }>) => void;
};

/** The other side of the page. */
export interface Client {
  /** Whether it answers `compare` and `report`. */
  readonly compares: boolean;
  send: Send;
  /** Ends what is being compared, where the page runs it. */
  cancel?: () => void;
}
