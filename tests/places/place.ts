import type { Capability, Store } from "@holdfast/lock";
import type { StoreFixture } from "@holdfast/testing";
import { until } from "../support/until.ts";

/** A store of the package, as the tests open it that every store must pass. */
export interface Place {
  /** What the names of the tests call it. */
  readonly of: string;
  /** What it can do as a cohort. */
  readonly capabilities: readonly Capability[];
  /** Whether its server is missing, so that the tests are skipped. */
  readonly ignore?: boolean;
  /** Starts its server before the tests of the file that calls it, and stops it after them. */
  readonly serve?: () => void;
  /** Opens an empty place, whose stores are made as users make them. */
  readonly open: () => StoreFixture | Promise<StoreFixture>;
}

/** The capabilities of most stores, but for those that only matter within a process. */
export const FULL: readonly Capability[] = ["shared", "permits", "owner", "steal", "evict", "query"];

const served = new Set<Place>();

/** Starts the server of a place, once for all tests of a file. */
export function serve(place: Place): void {
  if (!served.has(place)) place.serve?.();
  served.add(place);
}

/** Defines a test on a new place. */
export function testOn(place: Place, name: string, run: (fixture: StoreFixture) => Promise<void>): void {
  serve(place);
  Deno.test({
    name,
    ignore: place.ignore ?? false,
    fn: async () => {
      const fixture = await place.open();
      try {
        await run(fixture);
      } finally {
        await fixture.close();
      }
    },
  });
}

/** Returns another store there. It has had an answer: until then it does not know how old the time of a reply is. */
export async function connected({ connect }: StoreFixture): Promise<Store> {
  const store = await connect();
  await store.query?.();
  return store;
}

/** Returns the names of the locks that a store lists. */
export async function listed(...stores: readonly Pick<Store, "query">[]): Promise<string[]> {
  const snapshots = await Promise.all(stores.map((store) => store.query!()));
  return snapshots.flatMap(({ held, pending }) => [...held, ...pending]).map(({ name }) => name);
}

/** Resolves when nothing is held and nothing waited for. */
export async function empty({ leftovers }: StoreFixture): Promise<void> {
  await until(async () => (await leftovers!()).length === 0, "nothing is left");
}
