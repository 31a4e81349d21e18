// Deno only: it starts servers, and processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { findPostgres } from "../support/postgres.ts";
import { PostgresServer } from "../support/postgres_server.ts";
import { DRIZZLE_OVER_POSTGRES_JS, ORMS, type OrmSetup, PRISMA_SCHEMA } from "./packages/orms.ts";
import { blocksOf, denoWithPackages } from "./packages/run.ts";

const found = findPostgres();

/** The code of the page for each ORM, by the comment in front of it. */
function sections(): Map<string, string> {
  const [code = ""] = blocksOf("orms.md");
  return new Map(
    code.split(/^\/\/ /m).slice(1).map((part) => [part.slice(0, part.indexOf("\n")), part.slice(part.indexOf("\n"))]),
  );
}

/** The function of the program for one ORM. */
function trial(name: string, { open, close }: OrmSetup, code: string): string {
  return `await (async () => {${open}
    await tried(${JSON.stringify(name)}, db, async (lock) => {
      ${code}
    });
    ${close}
  })();`;
}

/** The program: it tries each ORM, and writes a line of what came of it. */
function program(): string {
  const found = sections();
  const setups = [...Object.entries(ORMS), ["Drizzle over postgres.js", DRIZZLE_OVER_POSTGRES_JS] as const];
  const trials = setups.map(([name, setup]) => trial(name, setup, found.get(name.split(" over ")[0]!)!));
  return `import { isLockLost } from "@holdfast/lock";
import { guard, type GuardedLock } from "@holdfast/lock/guard";
import pg from "pg";
${setups.map(([, { imports }]) => imports).join("\n")}

const [url = ""] = Deno.args;
const admin = new pg.Pool({ connectionString: url, max: 1 });
const table = "CREATE TABLE holdfast_guard (name bytea PRIMARY KEY, fence bigint NOT NULL)";
const status = async () => (await admin.query("SELECT status FROM invoices")).rows[0].status;

async function tried(orm: string, db: any, section: (lock: GuardedLock) => Promise<void>): Promise<void> {
  const lock = (fence: bigint) => ({ name: "invoice:42", fence, held: true, mode: "exclusive" as const, permits: undefined });
  const outcome = (call: Promise<void>) => call.then(() => "passed", (error: Error) => isLockLost(error) ? "lost" : error.message);
  await admin.query("DROP TABLE IF EXISTS holdfast_guard; " + table);
  await admin.query("UPDATE invoices SET status = 'open'");
  const passed = [await outcome(section(lock(5n))), await status()];
  await admin.query("UPDATE invoices SET status = 'open'");
  const stale = [await outcome(section(lock(4n))), await status()];
  const without = await outcome(guard(db.em?.fork() ?? db.manager ?? db, lock(6n)));
  await admin.query("DROP TABLE holdfast_guard");
  console.log(JSON.stringify({ orm, passed, stale, without, missing: await outcome(section(lock(7n))) }));
}

await admin.query("CREATE TABLE invoices (id int PRIMARY KEY, status text); INSERT INTO invoices VALUES (42, 'open')");
${trials.join("\n")}
await admin.end();
`;
}

Deno.test({
  name: "guard() takes the transactions of ORMs as docs/recipes/orms.md shows",
  ignore: "missing" in found,
  fn: async () => {
    assertEquals([...sections().keys()], Object.keys(ORMS), "each is on the page");
    const directory = await Deno.makeTempDir({ prefix: "holdfast_orms_" });
    try {
      await Deno.writeTextFile(`${directory}/schema.prisma`, PRISMA_SCHEMA);
      await Deno.writeTextFile(`${directory}/program.ts`, program());
      await using server = await PostgresServer.start();
      const made = await denoWithPackages(["run", "-A", "prisma", "generate", "--schema=schema.prisma"], directory, {
        // Only named, never started: it would be downloaded otherwise.
        PRISMA_SCHEMA_ENGINE_BINARY: Deno.execPath(),
        CHECKPOINT_DISABLE: "1",
      });
      assert(made.success, made.err);
      // With the types: each transaction must be one that guard() takes.
      const { success, out, err } = await denoWithPackages(
        ["run", "--check", "-A", "program.ts", server.url],
        directory,
      );
      assert(success, `${out}${err}`);
      const outcomes = out.trim().split("\n").map((line) => JSON.parse(line));
      assertEquals(outcomes.map(({ orm }) => orm), [...Object.keys(ORMS), "Drizzle over postgres.js"]);
      for (const { orm, passed, stale, without, missing } of outcomes) {
        assertEquals([orm, passed, stale], [orm, ["passed", "paid"], ["lost", "open"]]);
        assert(/^tx must be (inside a|what runs the statements of a) transaction/.test(without), `${orm}: ${without}`);
        assert(missing.startsWith("There is no table holdfast_guard"), `${orm}: ${missing}`);
      }
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
