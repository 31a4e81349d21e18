import { AsyncLocalStorage } from "node:async_hooks";
import { type Claim, handleOf, type Store } from "../../../src/store.ts";
import type { QuorumNode } from "../../../src/composed/redlock/quorum_node.ts";

/** How long after the request an answer is late, in leases. */
const LATE = 0.1;

/** What one acquire has asked of the servers. */
export class Trace {
  /** The ids under which it has asked, one after the other. */
  readonly ids = new Set<string>();
  /** Those of its last attempt. */
  last = new Set<string>();
  /**
   * When its lease ends, at the latest, by the times at which requests were sent whose answers came before it had
   * ended; the beginning of time before it was granted.
   */
  deadline = -Infinity;
  /** Whether an answer was late, so that much is wrong if it was taken for one in time. */
  late = false;
  /** How many votes of each node have not been answered, and so may yet be given. */
  readonly unanswered = new Map<number, number>();
}

/** How many of the nodes that a call of a quorum has asked have said yes. */
interface Tally {
  yes: number;
}

/**
 * Watches the calls of a store from outside, and derives from them what a holder may believe, independently of the
 * lease that the package keeps.
 */
export class Witness {
  readonly #now: () => number;
  readonly #current = new AsyncLocalStorage<Trace>();
  readonly #tallies = new AsyncLocalStorage<Tally>();
  /** How many nodes are a majority; 0 where there is no quorum. */
  readonly #needed: number;
  /** By the id of the handle. */
  readonly #traces = new Map<string, Trace>();

  /** Watches by a clock; `nodes` says of how many nodes the quorum is, if there is one. */
  constructor(now: () => number, nodes = 0) {
    this.#now = now;
    this.#needed = nodes === 0 ? 0 : Math.floor(nodes / 2) + 1;
  }

  /** Runs an acquire, of which everything is noted in a trace. */
  run<T>(trace: Trace, acquire: () => Promise<T>): Promise<T> {
    return this.#current.run(trace, acquire);
  }

  /** Forgets the trace of a handle that is over. */
  forget(trace: Trace): void {
    for (const [id, each] of this.#traces) if (each === trace) this.#traces.delete(id);
  }

  /** Watches what is asked of a store, and returns the store. */
  watch(store: Store): Store {
    const [attempt, renew] = [store.attempt.bind(store), store.renew.bind(store)];
    store.attempt = async (claim, options) => {
      const trace = this.#current.getStore();
      if (trace === undefined) return await attempt(claim, options);
      this.#traces.set(handleOf(claim), trace);
      trace.last = new Set();
      this.#asked(claim, trace);
      const sent = this.#now();
      const tally = { yes: 0 };
      const answer = await this.#tallies.run(tally, () => attempt(claim, options));
      trace.late ||= this.#now() - sent > claim.lease * LATE;
      if (answer.granted) trace.deadline = tally.yes >= this.#needed ? sent + claim.lease : sent;
      return answer;
    };
    store.renew = async (claim) => {
      const sent = this.#now();
      const tally = { yes: 0 };
      const renewal = await this.#tallies.run(tally, () => renew(claim));
      const trace = this.#traces.get(handleOf(claim));
      if (trace !== undefined) trace.late ||= this.#now() - sent > claim.lease * LATE;
      if (renewal !== "renewed" || trace === undefined || tally.yes < this.#needed) return renewal;
      // What comes after the end of the lease is too late, whatever it says.
      if (this.#now() <= trace.deadline) trace.deadline = sent + claim.lease;
      return renewal;
    };
    return store;
  }

  /** Watches what a quorum asks of one of its nodes, and returns the node. */
  watchNode(node: QuorumNode, place: number): QuorumNode {
    const [vote, renew] = [node.vote.bind(node), node.renew.bind(node)];
    node.renew = async (claim) => {
      const tally = this.#tallies.getStore();
      const renewal = await renew(claim);
      if (renewal === "renewed" && tally !== undefined) tally.yes++;
      return renewal;
    };
    node.vote = async (claim, options) => {
      const trace = this.#current.getStore();
      if (trace === undefined) return await vote(claim, options);
      this.#asked(claim, trace);
      trace.unanswered.set(place, (trace.unanswered.get(place) ?? 0) + 1);
      const tally = this.#tallies.getStore();
      const answer = await vote(claim, options);
      if (answer.granted && tally !== undefined) tally.yes++;
      trace.unanswered.set(place, trace.unanswered.get(place)! - 1);
      return answer;
    };
    return node;
  }

  #asked(claim: Claim, trace: Trace): void {
    trace.ids.add(handleOf(claim));
    trace.last.add(handleOf(claim));
  }
}
