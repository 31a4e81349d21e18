import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import type { Attempt, Claim, Conflict } from "../../../src/store.ts";
import { FileStore } from "../../../src/stores/sqlite/store.ts";
import { VirtualClock } from "../../virtual_clock.ts";

export const LEASE = 60_000;

/** A file with two connections to it, as of two processes. */
export class Site implements Disposable {
  readonly clock = new VirtualClock();
  readonly directory = Deno.makeTempDirSync({ prefix: "holdfast_sqlite_" });
  readonly path = `${this.directory}/locks.db`;
  readonly a = this.open();
  readonly b = this.open();

  /** Another connection. */
  open(): FileStore {
    return new FileStore(this.path, undefined, this.clock);
  }

  [Symbol.dispose](): void {
    this.a.close();
    this.b.close();
    Deno.removeSync(this.directory, { recursive: true });
  }
}

/** Defines a test on a file, which fails when a hold or a waiter is left in it. */
export function testOnSite(name: string, run: (site: Site) => Promise<void>): void {
  Deno.test(name, async () => {
    using site = new Site();
    await run(site);
    assertEquals(rows(site.path), []);
  });
}

/** Who is left in a file. */
export function rows(path: string): string[] {
  using database = new DatabaseSync(path);
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'holdfast_queue'").get() === undefined) return [];
  return database.prepare("SELECT hold FROM holdfast_holds UNION ALL SELECT hold FROM holdfast_queue").all()
    .map((row) => String(row["hold"]));
}

/** A claim for the lock `name`; exclusive, by an owner of its own, unless it says otherwise. */
export function claimOf(claim: Partial<Claim> = {}): Claim {
  return { name: "name", owner: crypto.randomUUID(), mode: "exclusive", lease: LEASE, ...claim };
}

/** Handles of one owner. */
export function handles(owner: string, ...claims: Partial<Claim>[]): Claim[] {
  return claims.map((claim) => claimOf({ ...claim, owner, hold: `${owner}/${crypto.randomUUID()}` }));
}

/** Asks, and stands in the queue when it is busy. */
export async function ask(store: FileStore, claim: Claim): Promise<boolean | Conflict> {
  const attempt = await store.attempt(claim, { enqueue: true });
  return attempt.granted || ("conflict" in attempt ? attempt.conflict : false);
}

/** The fence of an attempt that must be granted. */
export async function fenceOf(attempt: Promise<Attempt>): Promise<bigint> {
  const granted = await attempt;
  assert(granted.granted);
  return granted.fence;
}
