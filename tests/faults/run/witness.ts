import { AsyncLocalStorage } from "node:async_hooks";
import { type Claim, handleOf, type Store } from "../../../src/contract/store.ts";
import type { QuorumNode } from "../../../src/contract/quorum_node.ts";
import { Asked } from "./asked.ts";
import type { Trace } from "./trace.ts";

/** How long after the request an answer is late, in leases. */
const LATE = 0.1;

/** How many grants of a lock are remembered: more than a process has at a time. */
const REMEMBERED = 50;

/** A call of a store that is under way. */
interface Call {
  readonly asked: Asked;
  /** How many of the nodes that it has asked have said yes. */
  yes: number;
}

/**
 * Watches the calls of a store from outside, and derives from them what a holder may believe, independently of the
 * lease that the package keeps. Several handles may hold a lock in turn under what the store has granted to one: a
 * fence says to which grant a handle belongs.
 */
export class Witness {
  readonly #now: () => number;
  readonly #current = new AsyncLocalStorage<Trace>();
  readonly #calls = new AsyncLocalStorage<Call>();
  /** How many nodes are a majority; 0 where there is no quorum. */
  readonly #needed: number;
  /** By the id of the handle. */
  readonly #traces = new Map<string, Trace>();
  /** By the id under which it was asked. */
  readonly #asked = new Map<string, Asked>();
  /** What was granted last, by the name of the lock. */
  readonly #granted = new Map<string, Asked[]>();

  /** Watches by a clock; `nodes` says of how many nodes the quorum is, if there is one. */
  constructor(now: () => number, nodes = 0) {
    this.#now = now;
    this.#needed = nodes === 0 ? 0 : Math.floor(nodes / 2) + 1;
  }

  /** Runs an acquire, of which everything is noted in a trace. */
  run<T>(trace: Trace, acquire: () => Promise<T>): Promise<T> {
    return this.#current.run(trace, acquire);
  }

  /**
   * Notes that an acquire was granted a lock with this fence. Returns false when no grant of the store has that fence:
   * then nothing allows its holder to believe anything.
   */
  granted(trace: Trace, lock: string, fence: bigint): boolean {
    const asked = this.#granted.get(lock)?.findLast((each) => each.hasFence(fence));
    if (asked === undefined) return false;
    trace.begin(asked);
    return true;
  }

  /** Forgets the trace of a handle that is over. */
  forget(trace: Trace): void {
    trace.end();
    for (const handle of trace.handles) {
      this.#traces.delete(handle);
      this.#drop(handle);
    }
  }

  /** Watches which handles are attempted for in the store that acquires use, and returns the store. */
  watchHandles<S extends Store>(store: S): S {
    const attempt = store.attempt.bind(store);
    store.attempt = (claim, options) => {
      const trace = this.#current.getStore();
      if (trace !== undefined) {
        this.#traces.set(handleOf(claim), trace);
        trace.handles.add(handleOf(claim));
      }
      return attempt(claim, options);
    };
    return store;
  }

  /** Watches what is asked of the store that keeps the locks, and returns the store. */
  watch(store: Store): Store {
    const [attempt, renew, release] = [store.attempt.bind(store), store.renew.bind(store), store.release.bind(store)];
    store.attempt = async (claim, options) => {
      const asked = this.#ask(claim);
      asked.last = new Set([asked.id]);
      const sent = this.#now();
      const call = { asked, yes: 0 };
      asked.attempts++;
      const answer = await this.#calls.run(call, () => attempt(claim, options)).catch((error) => {
        asked.attempts--;
        asked.unanswered = true;
        throw error;
      });
      // Not before it counts: nothing runs between this and what the answer says.
      asked.attempts--;
      asked.late ||= this.#now() - sent > claim.lease * LATE;
      if (!answer.granted) return answer;
      const begun = sent - (answer.age ?? 0);
      asked.granted(answer, call.yes >= this.#needed ? begun + claim.lease : sent, this.#now());
      this.#remember(claim.name, asked);
      return answer;
    };
    store.renew = async (claim) => {
      const asked = this.#asked.get(handleOf(claim));
      if (asked === undefined) return await renew(claim);
      const sent = this.#now();
      asked.mayEnd(sent + claim.lease);
      const call = { asked, yes: 0 };
      const renewal = await this.#calls.run(call, () => renew(claim));
      // One that was forgotten meanwhile does not count.
      if (this.#asked.get(asked.id) !== asked) return renewal;
      asked.late ||= this.#now() - sent > claim.lease * LATE;
      if (renewal === "lost") asked.over = true;
      else if (call.yes >= this.#needed) asked.renewed(claim, sent + claim.lease, this.#now());
      return renewal;
    };
    store.release = async (claim) => {
      const released = await release(claim);
      const asked = this.#asked.get(handleOf(claim));
      if (asked !== undefined) {
        asked.over = true;
        this.#drop(asked.id);
      }
      return released;
    };
    return store;
  }

  /** Watches what a quorum asks of one of its nodes, and returns the node. */
  watchNode(node: QuorumNode): QuorumNode {
    const [vote, renew] = [node.vote.bind(node), node.renew.bind(node)];
    node.renew = async (claim) => {
      const call = this.#calls.getStore();
      const renewal = await renew(claim);
      if (renewal === "renewed" && call !== undefined) call.yes++;
      return renewal;
    };
    node.vote = async (claim, options) => {
      const call = this.#calls.getStore();
      if (call === undefined) return await vote(claim, options);
      const { asked } = call;
      asked.ids.add(handleOf(claim));
      asked.last.add(handleOf(claim));
      const answer = await vote(claim, options);
      if (answer.granted) call.yes++;
      return answer;
    };
    return node;
  }

  #ask(claim: Claim): Asked {
    const id = handleOf(claim);
    const asked = this.#asked.get(id) ?? new Asked(id);
    this.#asked.set(id, asked);
    this.#traces.get(id)?.asks(asked);
    return asked;
  }

  /** Forgets what was asked under an id, unless a handle of the process may hold the lock under it yet. */
  #drop(id: string): void {
    const asked = this.#asked.get(id);
    // The caller of an attempt may have given up: if it is granted after all, the lock is handed on to others.
    if (asked?.carries || (asked?.attempts ?? 0) > 0 || this.#traces.has(id)) return;
    this.#asked.delete(id);
  }

  #remember(lock: string, asked: Asked): void {
    const others = (this.#granted.get(lock) ?? []).filter((each) => each !== asked);
    this.#granted.set(lock, [...others.slice(1 - REMEMBERED), asked]);
  }
}
