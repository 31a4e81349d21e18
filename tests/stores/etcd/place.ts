import { etcd, type EtcdOptions, type EtcdStore } from "@holdfast/lock/etcd";
import { type Clock, SystemClock } from "../../../src/time/clock.ts";
import { type LockDocument, parseDocument } from "../../../src/engine/document.ts";
import { CasStore } from "../../../src/engine/store.ts";
import { EtcdGateway } from "../../../src/stores/etcd/gateway.ts";
import { checkEtcdOptions } from "../../../src/stores/etcd/options.ts";
import { EtcdBackend } from "../../../src/stores/etcd/store.ts";
import { findEtcd } from "../../support/etcd.ts";
import { EtcdCluster } from "../../support/etcd_server.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { counting } from "./counting.ts";

const found = findEtcd();
if ("missing" in found) console.log(`the tests on etcd are skipped: ${found.missing}`);

/** Whether there is no server. */
export const ignore = "missing" in found;

/** The options of a watch that a waiter waits for. */
export const WAITED = { isWaited: true };

/** Keys of their own for each test, in the cluster of the test file. */
export class Place {
  static #cluster: EtcdCluster | undefined;
  static #places = 0;
  readonly prefix = `test${++Place.#places}/`;
  readonly #counted = counting();

  /** The cluster of this file. */
  static get cluster(): EtcdCluster {
    if (Place.#cluster === undefined) throw new Error("the file does not call Place.serve()");
    return Place.#cluster;
  }

  /** Starts a cluster before the tests of the file that calls it, and stops it after them. */
  static serve(members = 1): void {
    if (ignore) return;
    Deno.test.beforeAll(async () => void (Place.#cluster = await EtcdCluster.start(members)));
    Deno.test.afterAll(async () => await Place.#cluster?.[Symbol.asyncDispose]());
  }

  /** The options of a store here. */
  get options(): EtcdOptions {
    return { endpoints: Place.cluster.endpoints, prefix: this.prefix };
  }

  /** Returns a store. It lists again when an answer comes too late for it. */
  store(options: Partial<EtcdOptions> = {}): EtcdStore {
    const store = etcd({ ...this.options, fetch: this.#counted.fetch, ...options });
    const query = store.query.bind(store);
    const answered: typeof query = (options) =>
      query(options).catch((error) => {
        if (!/no answer within/.test(error.message)) throw error;
        return answered(options);
      });
    return Object.assign(store, { query: answered });
  }

  /** Resolves when all that the stores have sent is answered, and nothing was sent for a while. */
  async quiet(): Promise<void> {
    await until(this.#counted.isQuiet, "all is done");
  }

  /** Resolves when no watch is left. */
  async closed(): Promise<void> {
    await watching(0);
  }

  /** Returns a backend, by default one that a slow machine does not hurry, as {@linkcode backendOf} does. */
  backend(options?: Partial<EtcdOptions>, clock?: Clock): EtcdBackend {
    return backendOf({ ...this.options, ...options }, clock);
  }

  /** Returns a store that does not hand on, for tests that call it themselves. */
  engine(options?: Partial<EtcdOptions>, clock: Clock = new SystemClock()): CasStore {
    return new CasStore(this.backend(options, clock), { maxClockSkew: 10_000, observer: undefined }, clock);
  }

  /** Returns the documents, by their names. */
  async documents(): Promise<Map<string, LockDocument>> {
    const { documents } = await this.backend().list(1_000);
    return new Map(documents.map(({ key, value }) => [key, parseDocument(key, value)]));
  }

  /** Returns the names of the locks that are held or waited for. */
  async used(): Promise<string[]> {
    return [...await this.documents()].filter(([, document]) => !document.unused).map(([name]) => name);
  }
}

/** Defines a test with keys of its own. */
export function test(name: string, run: (place: Place) => Promise<void>): void {
  Deno.test({ name, ignore, fn: () => run(new Place()) });
}

/** Resolves to how many watches the servers have. */
export async function watchers(): Promise<number> {
  const counts = Place.cluster.members.map((member) => member.metric("etcd_debugging_mvcc_watcher_total"));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count);
}

/** Resolves when they have so many. */
export function watching(count: number): Promise<void> {
  return until(async () => await watchers() === count, `watches: ${count}`, HANG_MS);
}

/**
 * Returns a backend with these options. By default its clock stands still: it gives up no call, leaves no member and
 * polls for no watch because a server, or this process, takes a second or two.
 */
export function backendOf(options: EtcdOptions, clock: Clock = new VirtualClock()): EtcdBackend {
  const settings = checkEtcdOptions(options);
  return new EtcdBackend(new EtcdGateway(settings, clock), settings.prefix, clock);
}
