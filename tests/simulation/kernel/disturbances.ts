import type { Machine } from "./machine.ts";

/** Until when faults between a client and its servers last, or lasted: an undisturbed client is promised more. */
export class Disturbances {
  readonly #of = new Map<Machine, number>();
  #ofAll = -Infinity;

  /** Notes a disturbance of one client, or of all of them. */
  note(until: number, client?: Machine): void {
    if (client === undefined) this.#ofAll = Math.max(this.#ofAll, until);
    else this.#of.set(client, Math.max(this.#of.get(client) ?? -Infinity, until));
  }

  /** Returns when the last disturbance of a client ends, or ended. */
  until(client: Machine): number {
    return Math.max(this.#ofAll, this.#of.get(client) ?? -Infinity);
  }

  /** When the last disturbance of any client ends, or ended. */
  get last(): number {
    return Math.max(this.#ofAll, ...this.#of.values());
  }
}
