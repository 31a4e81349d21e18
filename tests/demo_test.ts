// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { shorten } from "../tools/demo/fences.ts";
import { stripVTControlCharacters } from "node:util";
import { Directory, Program } from "./support/program.ts";
import { freePort } from "./support/free_port.ts";
import { RedisServer } from "./support/redis_server.ts";
import { replayed } from "./support/replayed.ts";
import { textOf } from "./support/test_files.ts";
import { withoutCoverage } from "./support/without_coverage.ts";

/** Fails unless the demo has shown everything, and everything held. */
async function assertHeld(demo: Program): Promise<void> {
  assertEquals(await demo.status(), 0, `${demo}`);
  const rows = [
    /^ +no lock +Holdfast$/m,
    /^ +updates lost +\d+ of 40 +0 of 40$/m,
    /^ +sections per second +\d+ +\d+$/m,
    /^ +median wait +\d+\.\d ms$/m,
    /^ +longest wait +\d+\.\d ms$/m,
    /^ +fences rising +yes$/m,
    /^ +taken over after a kill +\d+\.\d\d s$/m,
    /^ +late write refused +yes$/m,
    /^Everything held\.$/m,
  ];
  for (const row of rows) assert(row.test(demo.output), `${row} is missing:\n${demo}`);
  // Four processes that do nothing about it lose at least one update in 40.
  assert(!/no update was lost[^]*no update was lost/.test(demo.output), `${demo}`);
  assertEquals(demo.errors, "");
  assertFits(demo.output);
}

/** Fails if a line would be broken on a terminal of 80 columns. */
function assertFits(output: string): void {
  assertEquals(output.split("\n").filter((line) => line.length > 80), []);
}

/** What the demo leaves on a terminal, line by line. */
async function onTerminal(env: Record<string, string>): Promise<string[]> {
  using directory = new Directory();
  const script = new URL("../examples/demo.ts", import.meta.url).pathname;
  const demo = `"${Deno.execPath()}" run --quiet --allow-run --allow-read --allow-write "${script}" --sections 10`;
  const { success, stdout } = await new Deno.Command("script", {
    args: ["--quiet", "--return", "--command", demo, "/dev/null"],
    cwd: directory.path,
    clearEnv: true,
    env: { ...withoutCoverage(), TMPDIR: directory.path, ...env },
    stdin: "null",
  }).output();
  const output = new TextDecoder().decode(stdout);
  assert(success, output);
  // A progress line is overwritten by the next one.
  return output.trimEnd().split("\r\n").map((line) => line.split("\r\x1b[K").at(-1)!);
}

const linux = { ignore: Deno.build.os !== "linux" };

Deno.test("examples/demo.ts fits a terminal of 80 × 24, in colour", linux, async () => {
  const lines = await onTerminal({ NO_COLOR: "" });
  assert(lines.some((line) => line.includes("\x1b[32mno update was lost\x1b[0m")), lines.join("\n"));
  assertFits(stripVTControlCharacters(lines.join("\n")));
  assert(lines.length <= 22, `with the line of the task and the prompt there are ${lines.length + 2} lines`);
});

Deno.test("examples/demo.ts is without colour when NO_COLOR is set", linux, async () => {
  const lines = await onTerminal({ NO_COLOR: "1" });
  assert(lines.includes("   raised 40 times, the file says 40: no update was lost."), lines.join("\n"));
  assertEquals(lines.filter((line) => line.includes("\x1b")), []);
});

Deno.test("shorten() leaves of two fences the digits from the first difference", () => {
  assertEquals(shorten("1795327806913000", "1795327808914123"), ["…6913000", "…8914123"]);
  assertEquals(shorten("9", "10"), ["9", "10"]);
  assertEquals(shorten("12", "21"), ["12", "21"]);
  assertEquals(shorten("12", "12"), ["12", "12"]);
});

Deno.test("examples/demo.ts runs as the README has it, and fetches nothing", async () => {
  const [, line = ""] = /^npx -y deno@[\d.]+ (.*examples\/demo\.ts)\b/m.exec(textOf("README.md")) ?? [];
  using directory = new Directory();
  // Nobody listens there: what is fetched fails.
  const nowhere = `http://127.0.0.1:${freePort()}/`;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: line.split(" "),
    cwd: new URL("../", import.meta.url).pathname,
    clearEnv: true,
    env: {
      ...withoutCoverage(),
      ...{ DENO_DIR: directory.path, NPM_CONFIG_REGISTRY: nowhere, JSR_URL: nowhere, NO_COLOR: "1" },
    },
    stdin: "null",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals([code, err], [0, ""], out);
  assert(out!.endsWith("\nEverything held.\n"), out);
});

Deno.test("examples/demo.ts shows that all promises hold on SQLite and leaves nothing", async () => {
  using directory = new Directory();
  await using demo = new Program(directory, "demo.ts", ["--sections", "10"]);
  await assertHeld(demo);
  assertEquals(directory.leftovers(), []);
});

Deno.test("examples/demo.ts shows that all promises hold on Redis and leaves only a fence", async () => {
  using directory = new Directory();
  await using server = await RedisServer.start();
  await using demo = new Program(directory, "demo.ts", ["--sections=10", `redis://127.0.0.1:${server.port}`]);
  await assertHeld(demo);
  assertEquals(directory.leftovers(), []);
  assertEquals(await server.leftovers(), []);
  const client = server.connect();
  const keys = await client.keys("*");
  assertEquals(keys.length, 1, `${keys}`);
  assert(await client.pttl(keys[0]!) > 0, "the fence stays for ever");
});

Deno.test("examples/demo.ts exits with 1 when something does not hold", async () => {
  using directory = new Directory();
  await using server = await RedisServer.start();
  // So many that some are left for the rival when this process was held up.
  const args = ["--sections", "200", `redis://127.0.0.1:${server.port}`];
  await using demo = new Program(directory, "demo.ts", args);
  await demo.printed("2. With a lock");
  // A rival sets the fence far ahead, and once somebody has got such a one, back again.
  const rival = server.connect();
  const [fence] = await rival.keys("*:fence");
  const far = 2 ** 52;
  await rival.set(fence!, far);
  while (Number(await rival.get(fence!)) === far) assert(!demo.output.includes("3. A holder dies"), `${demo}`);
  await rival.del(fence!);
  assertEquals(await demo.status(), 1, `${demo}`);
  assert(/^ +fences rising +NO$/m.test(demo.output), `${demo}`);
  assert(demo.output.endsWith("\nDID NOT HOLD: fences rise.\n"), `${demo}`);
  assertEquals(directory.leftovers(), []);
});

for (
  const [what, sections, signal, moment, status] of [
    ["while it counts", "1000", "SIGINT", "raised", 130],
    ["while a holder is frozen", "10", "SIGTERM", "A is frozen", 143],
  ] as const
) {
  Deno.test(`examples/demo.ts leaves nothing behind when it is stopped ${what}`, () =>
    replayed(async () => {
      using directory = new Directory();
      await using demo = new Program(directory, "demo.ts", ["--sections", sections]);
      await demo.printed(moment);
      const before = directory.leftovers();
      demo.kill(signal);
      // It may have ended before the signal came, when this process was held up.
      if (await demo.status() === 0) return "it has ended before";
      assert(before.length > 1, "there was nothing that it could have left behind");
      assertEquals(await demo.status(), status, `${demo}`);
      assertEquals(directory.leftovers(), []);
      assert(!demo.output.includes("Everything held"), `${demo}`);
      return undefined;
    }));
}

Deno.test("examples/demo.ts explains itself and its mistakes", async () => {
  const run = async (args: string[], flags?: string[]) => {
    using directory = new Directory();
    await using demo = new Program(directory, "demo.ts", args, flags);
    return { status: await demo.status(), output: demo.output, errors: demo.errors, left: directory.leftovers() };
  };
  const help = await run(["--help"]);
  assertEquals([help.status, help.errors, help.left], [0, "", []]);
  for (const option of ["STORE", "--sections", "--help"]) assert(help.output.includes(option), help.output);

  const withoutSqlite = "data:text/javascript,process.getBuiltinModule = () => undefined";
  const mistakes: [status: number, says: string, args: string[], flags?: string[]][] = [
    [2, "'--foo'", ["--foo"]],
    [2, "'foo'", ["foo"]],
    [2, "'localhost:6379'", ["localhost:6379"]],
    [2, "'redis://b'", ["redis://a", "redis://b"]],
    [2, 'got "0"', ["--sections", "0"]],
    [2, 'got "many"', ["--sections=many"]],
    [1, "ECONNREFUSED", [`redis://127.0.0.1:${freePort()}`]],
    [1, "node:sqlite", [], ["--preload", withoutSqlite]],
  ];
  // All have ended before the first one can fail the test.
  const results = await Promise.all(mistakes.map(([, , args, flags]) => run(args, flags)));
  for (const [index, { status, output, errors, left }] of results.entries()) {
    const [expected, says, args] = mistakes[index]!;
    assertEquals([status, output, left], [expected, "", []], `${args}: ${errors}`);
    assert(/^demo: .*\n$/.test(errors) && errors.includes(says), errors);
  }
});
