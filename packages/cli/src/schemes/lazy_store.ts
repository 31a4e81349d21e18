import { SystemClock } from "../time/clock.ts";
import { within } from "../time/within.ts";
import { diagnosed } from "../terminal/answer.ts";
import { examine } from "../doctor/examination.ts";
import type { Finding } from "../doctor/finding.ts";
import type { OpenedStore, OpenOptions } from "./scheme.ts";
import { schemeOf } from "./registry.ts";
import { findStoreUrls, type StoreSources } from "./store_urls.ts";

/** How long an aborted examination may take to end, in milliseconds. */
const REMOVE_MS = 3_000;

/** Opens the store of a command once, when the command asks for it. */
export class LazyStore {
  readonly #sources: StoreSources;
  readonly #signal: AbortSignal;
  #opening: Promise<OpenedStore> | undefined;
  #opened: OpenedStore | undefined;
  #examining: Promise<Finding[]> | undefined;

  /** Creates the holder of the store. After the signal has aborted, it opens nothing. */
  constructor(sources: StoreSources, signal: AbortSignal) {
    this.#sources = sources;
    this.#signal = signal;
  }

  /** Resolves to the store; rejects with the reason of the signal when that aborts earlier. */
  async open(options?: OpenOptions): Promise<OpenedStore> {
    return this.#opened = await this.#unlessAborted(() => this.#opening ??= this.#open(options));
  }

  /** Examines the store; rejects with the reason of the signal when that aborts earlier. */
  async examine(): Promise<Finding[]> {
    return await this.#unlessAborted(() => this.#examining ??= this.#examine());
  }

  async #unlessAborted<T>(call: () => Promise<T>): Promise<T> {
    const signal = this.#signal;
    signal.throwIfAborted();
    let abort = () => {};
    // A client library may have to be downloaded first.
    const aborted = new Promise<never>((_, reject) => abort = () => reject(signal.reason));
    signal.addEventListener("abort", abort);
    try {
      return await Promise.race([call(), aborted]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Resolves to the error of a command, or to an error that says what is wrong with the URL of the store. */
  async diagnosed(error: unknown): Promise<unknown> {
    return this.#opened === undefined || this.#signal.aborted ? error : await diagnosed(this.#opened, error);
  }

  /** Closes the store, if it was opened, once an examination has cleaned up. */
  async close(): Promise<void> {
    // Its own caller has its error. A late examination is not awaited.
    if (this.#examining !== undefined) await within(REMOVE_MS, this.#examining, new SystemClock()).catch(() => {});
    if (this.#opened !== undefined) return await this.#opened[Symbol.asyncDispose]();
    // It may be opened too late for the command.
    this.#opening?.then((opened) => opened[Symbol.asyncDispose](), () => {});
  }

  async #examine(): Promise<Finding[]> {
    const urls = await findStoreUrls(this.#sources);
    return await examine(schemeOf(urls).examination(urls), this.#signal);
  }

  async #open(options: OpenOptions | undefined): Promise<OpenedStore> {
    const urls = await findStoreUrls(this.#sources);
    return await schemeOf(urls).open(urls, options);
  }
}
