import type { Store } from "../../../src/contract/store.ts";
import type { TcpProxy } from "../../support/tcp_proxy.ts";
import type { Crew } from "./crew.ts";
import type { Succession } from "./dead_holders.ts";
import type { Fault } from "./fault.ts";
import type { Ways } from "./ways.ts";
import type { Target } from "./work.ts";
import type { WorkerClocks } from "./worker_clocks.ts";

/**
 * What the locks of a run are kept on, and what can happen to it. How a worker process reaches it is an
 * `Access`, which belongs to its {@linkcode Target}.
 */
export interface Deployment extends AsyncDisposable {
  /** Returns what clients connect to that reach the servers, in the order of the proxies, at other ports. */
  target(ports: readonly number[]): Target;
  /** The ports of the servers themselves, in the same order; none where there is no server. */
  readonly ports: readonly number[];
  /** The ways to the servers that all processes share. */
  readonly proxies: readonly TcpProxy[];
  /** A text that each request has which changes a lock. */
  readonly request: string;
  /** The wall clocks of the processes that use it, where faults set them. */
  readonly clocks?: WorkerClocks;
  /** How what happened on it is judged. */
  readonly traits: Traits;
  /** What can happen to what the locks are kept on. */
  readonly faults: readonly Fault[];
  /** Returns what can happen besides, which concerns the processes that use it. */
  userFaults?(users: Users): readonly Fault[];
  /** Returns the servers that decide now, where others can take their places: data may be lost then. */
  masters?(): Promise<readonly { readonly port: number }[]>;
  /**
   * Asks for something that needs what each lock needs, beside all ways; where servers elect a leader by themselves,
   * and answer nothing meanwhile. Rejects when they do not answer.
   */
  probe?(): Promise<unknown>;
  /** Returns what is left. */
  left(): Promise<Left>;
}

/** The processes that use a deployment. */
export interface Users {
  readonly crew: Crew;
  /** The ways of each process to the servers. */
  readonly ways: readonly Ways[];
  /** The lease of all locks, in milliseconds. */
  readonly lease: number;
  /** The lock that the first process mostly holds. */
  readonly kept: string;
}

/** What is left when nobody uses a deployment any longer. */
export interface Left {
  /** What is kept of holders and waiters, or for them. */
  readonly entries: readonly string[];
  /** Connections of clients that have gone. */
  readonly connections: readonly string[];
}

/** What is particular to a deployment. Durations are in milliseconds. */
export interface Traits {
  /** Whether its store grants runs, so that locks are handed on inside a process by themselves. */
  readonly runs: boolean;
  /** Whether a call that has failed may be executed later: it may leave a lock for a lease then. */
  readonly executesLate: boolean;
  /** Whether a turn is also kept for each waiter that is dead, until it has not attempted for `waiterTimeout`. */
  readonly keepsTurns: boolean;
  /** For how long the place of a dead waiter may be kept, unless its release comes through. */
  readonly waiterTimeout: number;
  /** How long a lock may be free for a waiter, or held by those behind it, while nothing is wrong. */
  readonly idle: number;
  /** How soon somebody is granted the lock of a dead holder while nothing is wrong. */
  readonly succession: Succession;
  /** How long something may be left of an acquire that is over while nothing is wrong. */
  readonly givenBack: number;
  /** How long a process may stand still, or a server that nothing happens to take to answer, without an effect. */
  readonly stall: number;
  /** What the handoff to a waiter may take in any case: the median, and on average. */
  readonly pace: readonly [typical: number, average: number];
}

/** Returns all that a store lists, as text. */
export async function listed(store: Pick<Store, "query">): Promise<string[]> {
  const { held, pending } = await store.query!();
  return [
    ...held.map(({ name, handle }) => `lock ${name} held by ${handle}`),
    ...pending.map(({ name, handle }) => `lock ${name} waited for by ${handle}`),
  ];
}
