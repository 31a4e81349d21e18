import { AsyncLocalStorage } from "node:async_hooks";
import type { Mode } from "../../../src/contract/store.ts";
import { fenceOrder } from "../../verification/exclusion.ts";
import type { Machine } from "../kernel/machine.ts";
import type { Node } from "./node.ts";

/** A vote that a coordinator was asked for, and its answer as far as the client has received it. */
export interface CoordinatorVote {
  readonly node: Node;
  readonly askedAt: number;
  /** *Next*: refused, but nobody is ahead, and the lock has been held there for long. */
  said: "nothing" | "granted" | "refused" | "next" | "failed";
  /** In which event the client received the answer. */
  receivedIn: number;
}

/** What the store has granted together with a lock: a run. */
export interface KnownRun {
  readonly members: readonly Handle[];
  /** Until when the store has the lock for sure. */
  until: number;
}

/** One call of acquire, and how it ended. */
export interface Handle {
  readonly name: string;
  readonly mode: Mode;
  readonly client: Machine;
  /** As it asked for it, in milliseconds. */
  readonly lease: number;
  readonly calledAt: number;
  /** When the lock was granted. */
  grantedAt: number | undefined;
  /** Whether its client may have stopped trying to release it, because its clock was set. */
  forgiven: boolean;
  /** When the release was answered, or the call returned without the lock. */
  endedAt: number | undefined;
  /** When each node was first asked for it, and when that put it into its queue. */
  readonly firstAskedAt: Map<Node, number>;
  readonly queued: Map<Node, number>;
  /** The nodes whose votes it has received, and under which id, until it releases that. */
  readonly votes: Map<Node, string>;
  /** The vote of the last node in whose queue it asked to wait. */
  coordinator: CoordinatorVote | undefined;
  /** The handle under whose id the store has the lock that this one has, or waits for as a member of a run. */
  head: Handle | undefined;
  /** What was granted to it, and to others after it. */
  run: KnownRun | undefined;
  /** How many fences it wishes for. */
  readonly wish: number;
  /** How many it was granted, by the first of them. */
  readonly fences: Map<bigint, number>;
  /** The highest fence that it has asked a node to confirm. */
  confirming: bigint;
  /** In which event it did so last. */
  confirmingSince: number | undefined;
}

/** What the store has granted to a handle. */
interface Grant {
  readonly handle: Handle;
  readonly fence: bigint;
  readonly last: bigint;
}

/** The handle on whose behalf the present code runs: nodes know handles by other ids. */
const context = new AsyncLocalStorage<Handle | undefined>();

/** Returns the handle on whose behalf the present code runs. */
export function currentHandle(): Handle | undefined {
  return context.getStore();
}

/** Runs code on behalf of a handle, and all that continues asynchronously from it. */
export function runFor<T>(handle: Handle | undefined, run: () => T): T {
  return context.run(handle, run);
}

/** All handles of a run, by the ids by which nodes know them. */
export class Handles {
  readonly all: Handle[] = [];
  readonly #byId = new Map<string, Handle>();
  readonly #repeated = new Set<string>();
  readonly #grants: Grant[] = [];

  /** Makes the handle of an acquire that is called now. */
  make(asked: Pick<Handle, "name" | "mode" | "client" | "lease" | "calledAt" | "wish">): Handle {
    const handle: Handle = {
      ...asked,
      forgiven: false,
      grantedAt: undefined,
      endedAt: undefined,
      firstAskedAt: new Map(),
      queued: new Map(),
      votes: new Map(),
      fences: new Map(),
      coordinator: undefined,
      head: undefined,
      run: undefined,
      confirming: 0n,
      confirmingSince: undefined,
    };
    this.all.push(handle);
    return handle;
  }

  /** Notes that a node is asked for a handle under an id. */
  name(id: string, handle: Handle | undefined): void {
    if (handle !== undefined) this.#byId.set(id, handle);
  }

  /** Notes that a client's clock was set: what had not ended before a moment may not be released any more. */
  forgive(client: Machine, before: number): void {
    for (const handle of this.all) {
      if (handle.client === client && (handle.endedAt ?? Infinity) > before) handle.forgiven = true;
    }
  }

  /** Returns the handle that a node knows by an id. */
  of(id: string): Handle | undefined {
    return this.#byId.get(id);
  }

  /** Notes that the store has granted a handle so many fences, from one on. */
  grant(handle: Handle, fence: bigint, fences: number): void {
    this.#grants.push({ handle, fence, last: fence + BigInt(fences) - 1n });
  }

  /** Returns the handle to which the store has granted a fence of a name. */
  granted(name: string, fence: bigint): Handle | undefined {
    return this.#grants.findLast((grant) => grant.handle.name === name && fenceOrder(grant, { fence }) === "repeats")
      ?.handle;
  }

  /** Notes that a node received a request twice, or after its call had ended: nobody knows how that ended. */
  repeat(id: string, node: Node): void {
    this.#repeated.add(`${node.machine.name} ${id}`);
  }

  /** Returns whether a node received a request under an id twice, or too late. */
  repeated(id: string, node: Node): boolean {
    return this.#repeated.has(`${node.machine.name} ${id}`);
  }
}
