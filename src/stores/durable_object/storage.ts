import { aborted } from "../../time/aborted.ts";
import type { Clock } from "../../time/clock.ts";
import type { Backend, FoundDocument, WriteOptions, WriteResult } from "../../engine/backend.ts";
import { isOld, UNUSED_MS } from "../../engine/sweeper.ts";
import { CallNumbers, type NumberedCall } from "./call_numbers.ts";

/** The part of a Durable Object's storage that is used. */
export interface LockObjectStorage {
  /** Reads a value. */
  get(key: string): Promise<unknown>;
  /** Writes a value. No reply leaves the object before it is on the disk. */
  put(key: string, value: unknown): Promise<void>;
  /** Deletes a value. Resolves to whether there was one. */
  delete(key: string): Promise<boolean>;
  /** Lists values by their keys. */
  list(options: { prefix?: string; limit?: number }): Promise<Map<string, unknown>>;
  /** Deletes everything in the storage. */
  deleteAll(): Promise<void>;
  /** Returns when the alarm is due, in milliseconds since the Unix epoch; `null` if none is set. */
  getAlarm(): Promise<number | null>;
  /** Sets the alarm. */
  setAlarm(time: number): Promise<void>;
}

/** The stored form of a lock. */
interface StoredLock {
  /** The document as UTF-8: a string takes two bytes for each character if one is not Latin-1. */
  readonly document: Uint8Array;
  readonly calls: readonly NumberedCall[];
}

/** The prefix of keys. The name of the lock follows. */
const PREFIX = "lock:";

/** The largest document, in bytes: a value in the storage of older classes may have 128 KiB, with the calls. */
const MAX_BYTES = 120_000;

/** The time from one alarm to the next, in milliseconds: a lock that was used for an hour is old at the first alarm. */
const ALARM_MS = UNUSED_MS + 3_600_000;

/** Keeps documents in the storage of an object. Nobody else writes there, so that versions are counted in memory. */
export class StoredDocuments implements Backend<number> {
  readonly maxBytes = MAX_BYTES;
  readonly calls: CallNumbers = new CallNumbers();
  readonly #storage: LockObjectStorage;
  readonly #clock: Clock;
  /** The versions of the documents that were read. */
  readonly #versions = new Map<string, number>();
  #writes = 0;
  #isAlarmSet = false;

  constructor(storage: LockObjectStorage, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  async read(name: string): Promise<FoundDocument<number>> {
    // Before what it is the version of: a write meanwhile must not give its version to the text before it.
    const version = this.#version(name);
    const stored = await this.#storage.get(PREFIX + name) as StoredLock | undefined;
    if (!this.#versions.has(name)) {
      this.calls.add(stored?.calls ?? []);
      this.#versions.set(name, 0);
    }
    const value = stored && new TextDecoder().decode(stored.document);
    return { value, version, time: this.#clock.now().wall };
  }

  async write(
    name: string,
    document: string,
    version: number,
    { notBefore = 0 }: WriteOptions,
  ): Promise<WriteResult<number>> {
    const time = this.#clock.now().wall;
    if (this.#version(name) !== version || time < notBefore) return { written: false };
    const next = this.#raise(name);
    const stored: StoredLock = { document: new TextEncoder().encode(document), calls: this.calls.last };
    await this.#storage.put(PREFIX + name, stored);
    if (!this.#isAlarmSet) await this.#setFirstAlarm();
    return { written: true, version: next, time };
  }

  /** Deletes a lock if it has this version. Resolves to whether it did. */
  async delete(name: string, version: number): Promise<boolean> {
    if (this.#version(name) !== version) return false;
    this.#raise(name);
    return await this.#storage.delete(PREFIX + name);
  }

  /** Resolves when the signal aborts: only this object writes, so there is no news. */
  watch(_name: string, _version: number, signal: AbortSignal): Promise<void> {
    return aborted(signal);
  }

  /** Reads the calls that were kept with a lock, unless it has been read since the object was started. */
  async load(name: string): Promise<void> {
    if (!this.#versions.has(name)) await this.read(name);
  }

  async names(): Promise<string[]> {
    return [...(await this.#storage.list({ prefix: PREFIX })).keys()].map((key) => key.slice(PREFIX.length));
  }

  async removeIfOld(name: string): Promise<void> {
    const found = await this.read(name);
    if (isOld(name, found, this.#clock.now().wall)) await this.delete(name, found.version);
  }

  /** Sets the next alarm, or deletes everything that the platform keeps of an empty object. */
  async finishAlarm(): Promise<void> {
    const writes = this.#writes;
    const { size } = await this.#storage.list({ limit: 1 });
    this.#isAlarmSet = size > 0 || writes < this.#writes;
    if (this.#isAlarmSet) await this.#storage.setAlarm(this.#clock.now().wall + ALARM_MS);
    else await this.#storage.deleteAll();
  }

  async #setFirstAlarm(): Promise<void> {
    this.#isAlarmSet = true;
    if (await this.#storage.getAlarm() === null) await this.#storage.setAlarm(this.#clock.now().wall + ALARM_MS);
  }

  #version(name: string): number {
    return this.#versions.get(name) ?? 0;
  }

  #raise(name: string): number {
    this.#writes++;
    const next = this.#version(name) + 1;
    this.#versions.set(name, next);
    return next;
  }
}
