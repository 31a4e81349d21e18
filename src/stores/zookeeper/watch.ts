import { calledOrAborted } from "../../time/aborted.ts";
import type { NodeConnection } from "./client.ts";

/** A watch on the server, which ends when the node changes. */
interface NodeWatch {
  /** The version of the node when the watch was set; `undefined` without a node. Rejects if the watch was not set. */
  readonly set: Promise<number | undefined>;
  readonly waiting: Set<() => void>;
}

/** Watches nodes. A watch fires once, and cannot be removed: without waiters it serves the next waiter. */
export class NodeWatches {
  readonly #connection: NodeConnection;
  readonly #watches = new Map<string, NodeWatch>();

  constructor(connection: NodeConnection) {
    this.#connection = connection;
  }

  /** Resolves when the node's version may differ from `version`, or when the signal aborts. */
  async changed(path: string, version: number | undefined, signal: AbortSignal): Promise<void> {
    const watch = this.#watches.get(path) ?? this.#begin(path);
    let failure: unknown;
    await calledOrAborted(signal, (call) => {
      watch.waiting.add(call);
      watch.set.then((found) => found === version || call(), (error) => {
        failure = error;
        call();
      });
      return () => watch.waiting.delete(call);
    });
    if (failure !== undefined) throw failure;
  }

  #begin(path: string): NodeWatch {
    const end = () => {
      if (this.#watches.get(path) === watch) this.#watches.delete(path);
      for (const call of [...watch.waiting]) call();
    };
    const set = this.#connection.call<[{ readonly version: number } | null]>((client, done) => {
      client.exists(path, end, done);
    }).then(([stat]) => stat?.version);
    const watch: NodeWatch = { set, waiting: new Set() };
    this.#watches.set(path, watch);
    set.catch(end);
    return watch;
  }
}
