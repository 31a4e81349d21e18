// Deno only: it starts a server.
import { assert, assertEquals } from "@std/assert";
import pg from "pg";
import type { Attempt, Claim, Renewal, Store } from "@holdfast/lock";
import type { QueryClient, SqlRow } from "../../../src/internal/sql/postgres_client.ts";
import { handleOf } from "../../../src/contract/store.ts";
import { ask, claimOf, grant } from "../../support/claims.ts";
import { inTime } from "../../support/in_time.ts";
import { HANG_MS, until } from "../../support/until.ts";
import { newSchema } from "./clients.ts";
import { documentsIn, storeOver } from "./place.ts";
import { sharedServer } from "./shared_server.ts";

const { server, test } = await sharedServer();

const LEVELS = ["read committed", "repeatable read", "serializable"] as const;
const NAME = "a";

/** A process on a connection of its own, whose next write is held up between its statement and its commit. */
class Process implements AsyncDisposable {
  readonly #pool: pg.Pool;
  #gate: { readonly executed: () => void; readonly commit: Promise<void> } | undefined;
  /** How many statements were answered. */
  answers = 0;
  readonly client: QueryClient = {
    query: (text) => this.#query(text),
  };

  constructor(level: string) {
    const options = `-c default_transaction_isolation=${level.replaceAll(" ", "\\ ")}`;
    this.#pool = new pg.Pool({ connectionString: server().url, options });
  }

  /** Holds up the commit of the next write. Resolves when it is executed, to what commits it. */
  hold(): { readonly executed: Promise<void>; readonly commit: () => void } {
    const [executed, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.#gate = { executed: executed.resolve, commit: commit.promise };
    return { executed: executed.promise, commit: commit.resolve };
  }

  async #query(text: string): Promise<{ readonly rows: readonly SqlRow[] }> {
    const gate = text.includes("RETURNING") ? this.#gate : undefined;
    const connection = await this.#pool.connect();
    try {
      if (gate === undefined) return await connection.query(text);
      this.#gate = undefined;
      await connection.query("BEGIN");
      const reply = await connection.query(text);
      gate.executed();
      await gate.commit;
      await connection.query("COMMIT");
      return reply;
    } catch (error) {
      await connection.query("ROLLBACK");
      throw error;
    } finally {
      connection.release();
      this.answers++;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}

/** What a call was answered, as far as it decides who holds the lock. */
interface Answer {
  readonly granted?: { readonly claim: Claim; readonly fence: bigint } | undefined;
  readonly revokes?: boolean;
  readonly says?: Renewal | boolean | number;
}

type Call = (store: Store, holder: Claim, waiter: Claim) => Promise<Answer>;

function answerOf(claim: Claim, attempt: Attempt, revokes = false): Answer {
  return attempt.granted ? { granted: { claim, fence: attempt.fence }, revokes } : {};
}

const CALLS: Readonly<Record<string, Call>> = {
  attempt: async (store, _holder, waiter) => answerOf(waiter, await store.attempt(waiter, { enqueue: true })),
  renew: async (store, holder) => ({ says: await store.renew(holder) }),
  release: async (store, holder) => ({ says: await store.release(holder) }),
  steal: async (store) => {
    const thief = claimOf(NAME);
    return answerOf(thief, await store.attempt(thief, { enqueue: false, steal: true }), true);
  },
  evict: async (store) => {
    const count = await store.evict!(NAME);
    return { revokes: count > 0, says: count };
  },
};

for (const level of LEVELS) {
  for (const [first, callFirst] of Object.entries(CALLS)) {
    for (const [second, callSecond] of Object.entries(CALLS)) {
      test(`postgres() at ${level}: ${second} that begins before ${first} has committed`, () =>
        play(level, callFirst, callSecond));
    }
  }
}

async function play(level: string, callFirst: Call, callSecond: Call): Promise<void> {
  await using a = new Process(level);
  await using b = new Process(level);
  const schema = await newSchema(a.client);
  const [one, other] = [storeOver(a.client, { schema }), storeOver(b.client, { schema })];
  const [holder, waiter, late] = [claimOf(NAME), claimOf(NAME), claimOf(NAME)];
  const { fence } = { fence: await grant(one, holder) };
  await ask(other, waiter);
  // A call that finds nothing to write has nothing to be held up.
  const { executed, commit } = a.hold();
  const first = callFirst(one, holder, late);
  await inTime(Promise.race([executed, first]), HANG_MS, "the first statement");
  const { answers } = b;
  const second = callSecond(other, holder, waiter);
  await until(() => b.answers > answers, "a statement of the second call is answered");
  commit();
  const [x, y] = await Promise.all([first, second]);
  await check(a.client, schema, [{ granted: { claim: holder, fence } }, x, y]);
  // Nobody waits for ever.
  await other.evict(NAME);
  const queue = (await documentsIn(a.client, schema)).get(NAME)!.queue.map(({ claim }) => handleOf(claim));
  for (const [store, claim] of [[other, waiter], [one, late]] as const) {
    if (!queue.includes(handleOf(claim))) continue;
    await until(async () => (await store.attempt(claim, { enqueue: true })).granted, "the waiter is served");
    await store.release(claim);
  }
}

/** Checks that nobody holds the lock beside another one, and that each that was granted it holds it or has lost it. */
async function check(client: QueryClient, schema: string, answers: readonly Answer[]): Promise<void> {
  const { holders } = (await documentsIn(client, schema)).get(NAME)!;
  assert(holders.size <= 1, "an exclusive lock");
  const grants = answers.flatMap(({ granted }) => granted ?? []).sort((a, b) => Number(a.fence - b.fence));
  assertEquals(new Set(grants.map(({ fence }) => fence)).size, grants.length, "each grant has a fence of its own");
  const ends = answers.filter(({ revokes, says }) => revokes || says === true).length;
  const gone = grants.filter(({ claim }) => !holders.has(handleOf(claim)));
  assert(gone.length <= ends, `${gone.length} locks have ended by ${ends} calls`);
  // Whoever holds it was granted it last.
  const [last] = grants.slice(-1);
  for (const handle of holders.keys()) assertEquals(handle, handleOf(last!.claim));
}
