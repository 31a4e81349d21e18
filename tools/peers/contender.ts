import { type Peer, PEERS } from "./catalogue.ts";
import { Worker } from "./worker.ts";

/** A library with settings. */
export interface Contender {
  readonly peer: Peer;
  readonly tuned: boolean;
  /** Its name and version. */
  readonly title: string;
  /** Its settings in words; empty where there is nothing to be set. */
  readonly settings: string;
}

/** What a row is about, which decides who takes part, with which settings. */
export type Discipline = "free" | "waiting" | "quorum" | "holding";

/** Where the locks are of those that take part. */
export type Place = "redis" | "postgres";

/** All that can take part, of the libraries that are asked for. */
export function contenders(
  discipline: Discipline,
  only: readonly string[],
  titles: ReadonlyMap<string, string>,
  place: Place = "redis",
): Contender[] {
  const there = PEERS.filter(({ database = false }) => database === (place === "postgres"));
  return there.filter(({ id, bare }) => only.includes(id) || bare).flatMap((peer): Contender[] => {
    const title = titles.get(peer.id)!;
    const entry = (settings: string, tuned = true) => ({ peer, tuned, title, settings });
    const byDefault = (settings = "defaults") => entry(peer.settings ?? settings, false);
    switch (discipline) {
      case "free":
        if (!peer.tunedWhenFree) return [byDefault("")];
        return [byDefault(), entry(peer.tuned ?? "")];
      case "waiting":
        if (peer.bare) return [];
        return peer.tuned === undefined ? [byDefault("")] : [byDefault(), entry(peer.tuned)];
      case "quorum":
        if (!peer.quorum) return [];
        return peer.tunedQuorum === undefined ? [byDefault("")] : [byDefault(), entry(peer.tunedQuorum)];
      case "holding":
        return peer.interval === undefined ? [] : [entry("", peer.tuned !== undefined)];
    }
  });
}

/** A name for locks that no other contender takes: what one leaves behind must not stand in the way of another. */
export function lockName({ peer, tuned }: Contender, what: string): string {
  return `${what}:${peer.id}${tuned ? ":tuned" : ""}`;
}

/** What became of a contender. */
export interface Run<T> {
  readonly contender: Contender;
  /** The rounds that it finished. */
  readonly results: T[];
  /** Why it did not finish the others. */
  readonly note?: string;
}

/** Starts a worker for a contender that is killed with the run, if not earlier. */
export async function hire(
  { peer, tuned }: Contender,
  ports: readonly number[],
  stack: AsyncDisposableStack,
): Promise<Worker> {
  const starting = Worker.start({ peer: peer.id, tuned, ports, tolerant: true });
  stack.defer(() => starting.then((worker) => worker[Symbol.asyncDispose](), () => {}));
  return await starting;
}
