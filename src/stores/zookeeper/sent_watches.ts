/** The code of the request that sets watches on a new connection. */
export const SET_WATCHES = 101;

/** How many characters of paths one request has at most: a server takes no request above 1 MB (`jute.maxbuffer`). */
const WATCHED_CHARACTERS = 2 ** 16;

/** A watch of a node, which fires once. */
export interface SentWatch {
  readonly path: string;
  /** Whether the node existed when the watch was set. */
  readonly isThere: boolean;
  readonly fire: () => void;
}

export class SentWatches {
  readonly #watches = new Set<SentWatch>();

  add(watch: SentWatch): void {
    this.#watches.add(watch);
  }

  /** Returns the paths of the watches that a request sets again, for each request. */
  paths(isThere: boolean): string[][] {
    const watches = [...this.#watches].filter((watch) => watch.isThere === isThere);
    return partsOf([...new Set(watches.map(({ path }) => path))]);
  }

  fire(path: string): void {
    for (const watch of [...this.#watches].filter((watch) => watch.path === path)) {
      this.#watches.delete(watch);
      watch.fire();
    }
  }
}

/** Divides paths into parts with few characters. */
export function partsOf(paths: readonly string[]): string[][] {
  const all: string[][] = [];
  let characters = Infinity;
  for (const path of paths) {
    characters += path.length;
    if (characters > WATCHED_CHARACTERS) {
      all.push([]);
      characters = path.length;
    }
    all.at(-1)!.push(path);
  }
  return all;
}
