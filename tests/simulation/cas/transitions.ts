import { type LockDocument, parseDocument } from "../../../src/engine/document.ts";
import { handleOf } from "../../../src/contract/store.ts";
import { Taken } from "../kernel/taken.ts";

/** What writes do to a document. */
const TRANSITIONS = [
  "granted at once",
  "granted in its turn",
  "granted beside others",
  "granted with a run",
  "granted again, or renewed",
  "released by its client",
  "declared over by another client",
  "end brought nearer",
  "queued at the end",
  "back at its former place",
  "turn given",
  "turn not taken",
  "several waiters passed over at once",
  "several changes in one write",
  "refused: another version",
  "refused: too early",
  "executed late",
  "repeated unseen",
  "removed",
  "not removed: another version",
  "no room for a waiter",
] as const;

/** One of them. */
export type Transition = typeof TRANSITIONS[number];

/** A write that a server has executed. */
export interface ExecutedWrite {
  readonly client: string;
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string;
}

/** Counts what writes do. */
export class Transitions extends Taken<Transition> {
  /** The client of each handle, by what it wrote first. */
  readonly #clients = new Map<string, string>();

  /** Counts none. */
  constructor() {
    super(TRANSITIONS);
  }

  /** Counts what a write has done. */
  written({ client, key, before: text, after: written }: ExecutedWrite): void {
    const [before, after] = [parseDocument(key, text), parseDocument(key, written)];
    const changes = this.#holders(client, before, after) + this.#queue(client, before, after);
    if (changes > 1) this.take("several changes in one write");
    if (after.turn !== undefined && after.turn.number !== before.turn?.number) this.take("turn given");
  }

  /** Counts what has happened to holders; returns how much that is. */
  #holders(client: string, before: LockDocument, after: LockDocument): number {
    let changes = 0;
    for (const [handle, { beat, end, run }] of after.holders) {
      const known = before.holders.get(handle);
      if (known === undefined) {
        changes++;
        this.#clients.set(handle, client);
        const waited = before.queue.some(({ claim }) => handleOf(claim) === handle);
        this.take(
          before.holders.size > 0 && after.holders.size > 1
            ? "granted beside others"
            : waited
            ? "granted in its turn"
            : "granted at once",
        );
        if (run.length > 0) this.take("granted with a run");
      } else if (beat !== known.beat) this.take("granted again, or renewed");
      else if (end < known.end) this.take("end brought nearer");
    }
    for (const handle of before.holders.keys()) {
      if (after.holders.has(handle)) continue;
      changes++;
      this.take(this.#clients.get(handle) === client ? "released by its client" : "declared over by another client");
    }
    return changes;
  }

  /** Counts what has happened to the queue; returns how much that is. */
  #queue(client: string, before: LockDocument, after: LockDocument): number {
    const queued = new Set(before.queue.map(({ claim }) => handleOf(claim)));
    const left = new Set(after.queue.map(({ claim }) => handleOf(claim)));
    const come = after.queue.filter(({ claim }) => !queued.has(handleOf(claim)));
    for (const { claim, ticket } of come) {
      this.#clients.set(handleOf(claim), client);
      this.take(ticket > before.counter ? "queued at the end" : "back at its former place");
    }
    const passedOver = before.queue.filter(({ claim }) =>
      !left.has(handleOf(claim)) && !after.holders.has(handleOf(claim)) && this.#clients.get(handleOf(claim)) !== client
    );
    if (passedOver.length > 0) this.take("turn not taken");
    if (passedOver.length > 1) this.take("several waiters passed over at once");
    return come.length;
  }
}
