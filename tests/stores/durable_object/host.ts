import { type LockNamespace, LockObject, type LockObjectStorage, type LockStub } from "@holdfast/lock/durable-object";
import type { Clock } from "../../../src/time/clock.ts";
import { LockServer } from "../../../src/stores/durable_object/server.ts";

/** The storage of an object, which outlives its instances. */
export class MemoryStorage implements LockObjectStorage {
  readonly values: Map<string, unknown> = new Map();
  alarm: number | null = null;
  writes = 0;
  alarmReads = 0;
  /** Called before a write. */
  onWrite: () => Promise<void> = () => Promise.resolve();

  get(key: string): Promise<unknown> {
    return Promise.resolve(structuredClone(this.values.get(key)));
  }

  async put(key: string, value: unknown): Promise<void> {
    this.writes++;
    this.values.set(key, structuredClone(value));
    await this.onWrite();
  }

  delete(key: string): Promise<boolean> {
    return Promise.resolve(this.values.delete(key));
  }

  list({ prefix = "", limit = Infinity }: { prefix?: string; limit?: number }): Promise<Map<string, unknown>> {
    const entries = [...this.values].filter(([key]) => key.startsWith(prefix));
    return Promise.resolve(new Map(entries.slice(0, limit)));
  }

  deleteAll(): Promise<void> {
    this.values.clear();
    this.alarm = null;
    return Promise.resolve();
  }

  getAlarm(): Promise<number | null> {
    this.alarmReads++;
    return Promise.resolve(this.alarm);
  }

  setAlarm(time: number): Promise<void> {
    this.alarm = time;
    return Promise.resolve();
  }
}

/** An object: what is stored of it, and its instance while it is in memory. */
interface Hosted {
  readonly storage: MemoryStorage;
  instance: Pick<LockObject, "fetch" | "alarm"> | undefined;
  /** Fails the requests that the instance has not answered. */
  stop: AbortController;
}

/** Runs lock objects in this process, as the platform does: one instance for each name, started when it is asked. */
export class ObjectHost implements LockNamespace {
  readonly objects: Map<string, Hosted> = new Map();
  /** What the objects were asked, the last one last. */
  readonly requests: string[] = [];
  /** Called before a request reaches its object. */
  onRequest: (body: string) => Promise<void> = () => Promise.resolve();
  /** Called with the reply before it reaches the caller. */
  onReply: (body: string) => Promise<void> = () => Promise.resolve();

  readonly #clock: Clock | undefined;

  /** Makes a place without objects. They go by that clock, if one is given. */
  constructor(clock?: Clock) {
    this.#clock = clock;
  }

  idFromName(name: string): string {
    return name;
  }

  get(name: unknown): LockStub {
    return { fetch: (url, init) => this.#fetch(String(name), url, init) };
  }

  /** Returns an object, whether it is in memory or not. */
  object(name: string): Hosted {
    const known = this.objects.get(name);
    if (known !== undefined) return known;
    const hosted: Hosted = { storage: new MemoryStorage(), instance: undefined, stop: new AbortController() };
    this.objects.set(name, hosted);
    return hosted;
  }

  /** Removes all objects from memory, with the connections to them. Their storage is kept. */
  evict(): void {
    for (const object of this.objects.values()) {
      object.instance = undefined;
      object.stop.abort(Object.assign(new Error("the object was reset"), { retryable: true }));
      object.stop = new AbortController();
    }
  }

  /** Returns the instance of an object, which is started if it is not in memory. */
  instance(name: string): Pick<LockObject, "fetch" | "alarm"> {
    const object = this.object(name);
    const { storage } = object;
    object.instance ??= this.#clock === undefined ? new LockObject({ storage }) : new LockServer(storage, this.#clock);
    return object.instance;
  }

  /** Returns the names of the locks that are held or waited for. */
  used(): string[] {
    return [...this.objects].filter(([name, { storage }]) => {
      const stored = storage.values.get(`lock:${name}`) as { document: Uint8Array } | undefined;
      const { holders = [], queue = [] } = stored === undefined
        ? {}
        : JSON.parse(new TextDecoder().decode(stored.document));
      return holders.length + queue.length > 0;
    }).map(([name]) => name);
  }

  /** Runs the alarm of an object, if it is set. */
  async runAlarm(name: string): Promise<void> {
    const { storage } = this.object(name);
    if (storage.alarm === null) return;
    storage.alarm = null;
    await this.instance(name).alarm();
  }

  async #fetch(name: string, url: string, { signal, ...init }: Parameters<LockStub["fetch"]>[1]): Promise<Response> {
    this.requests.push(init.body);
    await this.onRequest(init.body);
    const { stop } = this.object(name);
    // An instance that is not in memory any more has no timers.
    const over = AbortSignal.any([stop.signal, ...signal === undefined ? [] : [signal]]);
    const reset = new Promise<never>((_, reject) => over.addEventListener("abort", () => reject(over.reason)));
    const response = await Promise.race([
      this.instance(name).fetch(new Request(url, { ...init, signal: over })),
      reset,
    ]);
    await this.onReply(init.body);
    return response;
  }
}
