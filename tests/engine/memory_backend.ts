import type {
  Backend,
  FoundDocument,
  KeyVersion,
  ListedDocuments,
  WriteOptions,
  WriteResult,
} from "../../src/engine/mod.ts";

/** What a backend in memory keeps. Several backends may share it, as several clients share a server. */
export class Documents {
  readonly texts: Map<string, { readonly value: string; readonly version: number }> = new Map();
  readonly #watchers = new Map<string, Set<() => void>>();
  #version = 0;

  found(key: string): { readonly value: string | undefined; readonly version: number } {
    return this.texts.get(key) ?? { value: undefined, version: 0 };
  }

  set(key: string, value: string): number {
    this.texts.set(key, { value, version: ++this.#version });
    this.#notify(key);
    return this.#version;
  }

  delete(key: string): void {
    this.texts.delete(key);
    this.#notify(key);
  }

  /** Calls a function at each change of a key. Returns what ends that. */
  onChange(key: string, run: () => void): () => void {
    const all = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, all);
    all.add(run);
    return () => void all.delete(run);
  }

  /** Calls a function at each change of a key that is news. Returns what ends that. */
  onNews(key: string, run: () => void): () => void {
    return this.onChange(`news of ${key}`, run);
  }

  /** Tells of a change that is news. */
  tellNews(key: string): void {
    this.#notify(`news of ${key}`);
  }

  #notify(key: string): void {
    for (const run of [...this.#watchers.get(key) ?? []]) run();
  }
}

/** What a backend in memory can do besides. */
export interface MemoryBackendOptions {
  /** The clock of the server, in milliseconds since the Unix epoch, if it has one. */
  readonly clock?: (() => number) | undefined;
  /** Whether it notifies of changes. */
  readonly watches?: boolean;
}

/** Returns a backend in memory. */
export function memoryBackend(
  documents: Documents,
  { clock, watches = true }: MemoryBackendOptions = {},
): Backend<number> {
  const found = (key: string): FoundDocument<number> => ({ ...documents.found(key), time: clock?.() });
  const write = (key: string, value: string, version: number, { notBefore = 0 }: WriteOptions): WriteResult<number> => {
    const present = found(key);
    const { time } = present;
    if (present.version !== version || (time ?? Infinity) < notBefore) return { written: false, found: present };
    return { written: true, version: documents.set(key, value), time };
  };
  const remove = (removed: readonly KeyVersion<number>[]): number => {
    const present = removed.filter(({ key, version }) => version !== 0 && found(key).version === version);
    for (const { key } of present) documents.delete(key);
    return present.length;
  };
  const list = (limit: number, cursor = ""): ListedDocuments<number> => {
    const keys = [...documents.texts.keys()].filter((key) => key > cursor).sort();
    const page = keys.slice(0, limit);
    const next = page.length < keys.length ? page.at(-1) : undefined;
    return { documents: page.map((key) => ({ key, ...found(key) })), cursor: next };
  };
  const watch = (key: string, version: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal.aborted || found(key).version !== version) return resolve();
      const end = documents.onChange(key, () => done());
      const done = () => {
        end();
        signal.removeEventListener("abort", done);
        resolve();
      };
      signal.addEventListener("abort", done);
    });
  return {
    read: (key) => Promise.resolve(found(key)),
    write: (...written) => Promise.resolve(write(...written)),
    remove: (removed) => Promise.resolve(remove(removed)),
    list: (limit, cursor) => Promise.resolve(list(limit, cursor)),
    ...watches ? { watch } : {},
  };
}
