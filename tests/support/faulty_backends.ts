import type { Backend, FoundDocument, WriteResult } from "@holdfast/lock/cas";
import { type Documents, memoryBackend } from "../engine/memory_backend.ts";

/** A backend with one fault, made for each client. */
export type FaultyBackend = (documents: Documents) => Backend<number>;

/** A server that answers each command of a client later, in the order in which they came. */
class Connection {
  readonly #documents: Documents;
  /** The keys that were watched since the last transaction, with their versions then. */
  readonly #watched = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  get(key: string): Promise<FoundDocument<number>> {
    return this.#command(() => this.#documents.found(key));
  }

  /** Has the next transaction fail if the key changes before it. */
  watch(key: string): Promise<void> {
    return this.#command(() => void this.#watched.set(key, this.#documents.found(key).version));
  }

  unwatch(): Promise<void> {
    return this.#command(() => this.#watched.clear());
  }

  /** A transaction: writes a key unless one that is watched has changed, and forgets what is watched. */
  exec(key: string, value: string): Promise<number | undefined> {
    return this.#command(() => {
      const changed = [...this.#watched].some(([each, version]) => this.#documents.found(each).version !== version);
      this.#watched.clear();
      return changed ? undefined : this.#documents.set(key, value);
    });
  }

  #command<T>(execute: () => T): Promise<T> {
    const answer = this.#last.then(async () => {
      await new Promise((resolve) => setTimeout(resolve, 0));
      return execute();
    });
    this.#last = answer;
    return answer;
  }
}

/**
 * Watches, compares and replaces, over one connection for all calls: the transaction of one call ends the watch of
 * others.
 */
function interleaved(documents: Documents): Backend<number> {
  const connection = new Connection(documents);
  return {
    ...memoryBackend(documents),
    read: (key) => connection.get(key),
    async write(key, value, version) {
      await connection.watch(key);
      const found = await connection.get(key);
      if (found.version !== version) {
        await connection.unwatch();
        return { written: false, found };
      }
      const written = await connection.exec(key, value);
      return written === undefined ? { written: false } : { written: true, version: written };
    },
  };
}

/** The same, with one call after the other: that is right. */
export function inTurn(documents: Documents): Backend<number> {
  const backend = interleaved(documents);
  let last: Promise<unknown> = Promise.resolve();
  return {
    ...backend,
    write(...written) {
      const result = last.then(() => backend.write(...written));
      last = result;
      return result;
    },
  };
}

/** What a backend does in another way than a right one. */
type Change = (right: Backend<number>, documents: Documents) => Partial<Backend<number>>;

const later = () => new Promise((resolve) => setTimeout(resolve, 0));

/** What is changed of a right backend, by the behaviour that must find it. */
const CHANGES: readonly (readonly [behaviour: string, fault: string, change: Change])[] = [
  ["grants a name once", "it reads, compares and replaces in two steps", (right, documents) => ({
    async write(key, value, version): Promise<WriteResult<number>> {
      const found = await right.read(key);
      await later();
      return found.version === version ? { written: true, version: documents.set(key, value) } : { written: false };
    },
  })],
  ["grants a name once", "a write that was refused says that it was written", (right, documents) => ({
    write: async (...written) => {
      const result = await right.write(...written);
      return result.written ? result : { written: true, version: documents.found(written[0]).version };
    },
  })],
  ["refuses a held one", "a read gives what the one before it has found", (right) => {
    const found = new Map<string, Promise<FoundDocument<number>>>();
    return {
      read(key) {
        const now = right.read(key);
        const former = found.get(key) ?? now;
        found.set(key, now);
        return former;
      },
    };
  }],
  ["many callers of one client", "a write goes to the key of the last one that was sent", (right) => {
    let last = "";
    return {
      async write(key, ...written) {
        last = key;
        await later();
        return await right.write(last, ...written);
      },
    };
  }],
  ["grants a name once", "each version will do", (right, documents) => ({
    write: async (key, value, _, options) => {
      await later();
      return await right.write(key, value, documents.found(key).version, options);
    },
  })],
  ["no lease ends early", "a document is gone a second after it was written", (right, documents) => {
    const writtenAt = new Map<string, number>();
    return {
      read(key) {
        if (performance.now() - (writtenAt.get(key) ?? Infinity) > 1_000) documents.delete(key);
        return right.read(key);
      },
      write(key, ...written) {
        writtenAt.set(key, performance.now());
        return right.write(key, ...written);
      },
    };
  }],
  ["each name is a lock of its own", "keys are the same but for case", (right) => ({
    read: (key) => right.read(key.toLowerCase()),
    write: (key, ...written) => right.write(key.toLowerCase(), ...written),
  })],
  ["each name is a lock of its own", "keys are the same but for what comes after 255 characters", (right) => ({
    read: (key) => right.read(key.slice(0, 255)),
    write: (key, ...written) => right.write(key.slice(0, 255), ...written),
  })],
];

/** Backends with one fault each, by the behaviour that must find it. */
export const faultyBackends: readonly (readonly [behaviour: string, fault: string, backend: FaultyBackend])[] = [
  ["grants a name once", "calls for different names interleave on one connection", interleaved],
  ...CHANGES.map(([behaviour, fault, change]) => {
    const backend: FaultyBackend = (documents) => {
      const right = memoryBackend(documents);
      return { ...right, ...change(right, documents) };
    };
    return [behaviour, fault, backend] as const;
  }),
];
