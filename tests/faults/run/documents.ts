import { acquire } from "../../../mod.ts";
import { type Backend, cas } from "../../../src/engine/mod.ts";
import type { View } from "./view.ts";

/** How long the next user of a lock may wait for dead holders and waiters, in milliseconds. */
const PASSED_OVER_MS = 15_000;

/** The parts of a document that are told from the others. */
interface Fields {
  /** The last number that the document has issued. It only falls when the document is lost. */
  readonly counter: number;
  readonly queue: readonly unknown[];
  readonly holders: readonly { readonly run?: unknown }[];
  readonly turn?: unknown;
  readonly revoked?: unknown;
}

/** Reads a document as the plain text that it is, not as the engine does: what that overlooks is to be found. */
export async function readFields<Version>(backend: Backend<Version>, lock: string): Promise<Fields | undefined> {
  const { value } = await backend.read(lock);
  return value === undefined ? undefined : JSON.parse(value);
}

/**
 * Returns how locks are seen in their documents. All that is kept is looked through, but for what names handles that
 * are over: the members of a run also when they were served, and who has lost the lock.
 */
export function documentView<Version>(backend: Backend<Version>): View {
  return {
    async look(lock, ids) {
      const names = (part: unknown) => {
        const text = JSON.stringify(part) ?? "";
        return [...ids].some((id) => text.includes(id));
      };
      const fields = await readFields(backend, lock);
      if (fields === undefined) return { present: false, held: false, behind: false };
      const { queue, turn, revoked: _, holders, ...rest } = fields;
      const held = names({ ...rest, holders: holders.map(({ run: _, ...holder }) => holder) });
      const waits = names(queue) || names(turn);
      return { present: held || waits, held, behind: names(queue.slice(1)) };
    },
  };
}

/**
 * Uses each lock once, and returns what is in its document then. What processes left that were killed stays in a
 * document until somebody wants the lock, and no longer.
 */
export async function leftIn<Version>(
  backend: Backend<Version>,
  locks: readonly string[],
  wait: number = PASSED_OVER_MS,
): Promise<string[]> {
  const store = cas(backend);
  const entries = await Promise.all(locks.map(async (lock) => {
    const failure = await acquire(store, lock, { wait, lease: wait })
      .then((held) => held.release(), (error: Error) => error.message);
    if (failure !== undefined) return [failure];
    const { holders = [], queue = [] } = await readFields(backend, lock) ?? {};
    return [...holders, ...queue].map((entry) => `in the document of lock ${lock}: ${JSON.stringify(entry)}`);
  }));
  return entries.flat();
}
