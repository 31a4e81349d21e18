import { type Breach, now } from "../../verification/history/history.ts";

/** How often it is asked who the masters are, in milliseconds. */
const PERIOD = 400;

/** How long clients may go on with an old master when there is a new one, in milliseconds. */
const BELATED = 3_000;

/**
 * Notices when a deployment has other masters although nobody has made it: on a loaded machine servers take each other
 * for dead. What the new ones have not received is lost.
 */
export class Switches implements AsyncDisposable {
  readonly seen: Breach[] = [];
  readonly #masters: () => Promise<readonly { readonly port: number }[]>;
  readonly #explained: () => boolean;
  #known: readonly number[] = [];
  #since = now();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #over = false;
  #asking: Promise<void>;

  /** Begins to ask; `explained` says whether a fault is happening that may change them. */
  constructor(masters: () => Promise<readonly { readonly port: number }[]>, explained: () => boolean) {
    this.#masters = masters;
    this.#explained = explained;
    this.#asking = this.#ask();
  }

  async #ask(): Promise<void> {
    let explained = this.#explained();
    const asked = now();
    const masters = await this.#masters().catch(() => undefined);
    if (this.#over) return;
    explained ||= this.#explained();
    if (masters !== undefined) {
      const found = masters.map(({ port }) => port);
      const promoted = this.#known.length > 0 && found.some((port) => !this.#known.includes(port));
      if (promoted && !explained) {
        this.seen.push({ start: this.#since, end: now() + BELATED, what: "masters changed by themselves" });
      }
      // One that is missing may only have been slow to answer the others.
      if (promoted || found.length >= this.#known.length) this.#known = found;
      this.#since = asked;
    }
    this.#timer = setTimeout(() => this.#asking = this.#ask(), PERIOD);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    clearTimeout(this.#timer);
    await this.#asking;
  }
}
