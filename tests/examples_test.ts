import { assert, assertEquals } from "@std/assert";
import { Directory, Program } from "./program.ts";
import { freePort, RedisServer } from "./redis_server.ts";

Deno.test("examples/cron.ts runs the job once for all instances", async () => {
  using directory = new Directory();
  await using program = new Program(directory, "cron.ts");
  assertEquals(await program.status(), 0, `${program}`);
  assertEquals(program.output.match(/is written$/gm)?.length, 1, `${program}`);
  assertEquals(program.output.match(/was already written by instance \d$/gm)?.length, 2, `${program}`);
});

Deno.test("examples/fenced_update.ts refuses the write of a stale holder", async () => {
  using directory = new Directory();
  await using program = new Program(directory, "fenced_update.ts");
  assertEquals(await program.status(), 0, `${program}`);
  const verdicts = [...program.output.matchAll(/^fence \d+ writes "(.*)": (.*)$/gm)].map((match) => match.slice(1));
  assertEquals(verdicts, [["paid", "accepted"], ["cancelled", "refused"], ["archived", "accepted"]]);
  assert(program.output.endsWith("the invoice is archived\n"), `${program}`);
});

Deno.test("examples/long_job.ts stops when its lock is lost", async () => {
  using directory = new Directory();
  await using program = new Program(directory, "long_job.ts");
  assertEquals(await program.status(), 0, `${program}`);
  assert(program.output.includes("stopped: the lock is lost"), `${program}`);
  assert(!program.output.includes("page 10 of 10"), `${program}`);
});

Deno.test("examples/ctrl_c.ts releases its lock, or stops waiting, when it is stopped", async () => {
  using directory = new Directory();
  await using first = new Program(directory, "ctrl_c.ts", ["locks.db"]);
  await first.printed("working");
  await using second = new Program(directory, "ctrl_c.ts", ["locks.db"]);
  await second.printed("waiting");
  second.kill("SIGTERM");
  assertEquals(await second.status(), 130, `${second}`);
  assert(!second.output.includes("working"), `${second}`);

  await using third = new Program(directory, "ctrl_c.ts", ["locks.db"]);
  await third.printed("waiting");
  first.kill("SIGINT");
  const stopped = performance.now();
  assertEquals(await first.status(), 130, `${first}`);
  assert(first.output.includes("stopped by SIGINT"), `${first}`);
  await third.printed("working");
  // The lease of the first one would have lasted for 30 s.
  const waited = performance.now() - stopped;
  assert(waited < 20_000, `the next one had the lock after ${waited} ms`);
});

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
}

Deno.test("examples/demo.ts shows that everything holds on SQLite, and leaves nothing behind", async () => {
  using directory = new Directory();
  await using demo = new Program(directory, "demo.ts", ["--sections", "10"]);
  await assertHeld(demo);
  assertEquals(directory.leftovers(), []);
});

Deno.test("examples/demo.ts shows that everything holds on Redis, and leaves a fence behind that expires", async () => {
  using directory = new Directory();
  await using server = await RedisServer.start();
  await using demo = new Program(directory, "demo.ts", ["--sections=10", `--redis=redis://127.0.0.1:${server.port}`]);
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
  const args = ["--sections", "50", "--redis", `redis://127.0.0.1:${server.port}`];
  await using demo = new Program(directory, "demo.ts", args);
  await demo.printed("2. With a lock");
  // A stranger sets the fence far ahead, and once somebody has got such a one, back again.
  const stranger = server.connect();
  const [fence] = await stranger.keys("*:fence");
  const far = 2 ** 52;
  await stranger.set(fence!, far);
  while (Number(await stranger.get(fence!)) === far) assert(!demo.output.includes("3. A holder dies"), `${demo}`);
  await stranger.del(fence!);
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
  Deno.test(`examples/demo.ts leaves nothing behind when it is stopped ${what}`, async () => {
    using directory = new Directory();
    await using demo = new Program(directory, "demo.ts", ["--sections", sections]);
    await demo.printed(moment);
    assert(directory.leftovers().length > 1, "there was nothing that it could have left behind");
    demo.kill(signal);
    assertEquals(await demo.status(), status, `${demo}`);
    assertEquals(directory.leftovers(), []);
    assert(!demo.output.includes("Everything held"), `${demo}`);
  });
}

Deno.test("examples/demo.ts explains itself and its mistakes", async () => {
  const run = async (args: string[], flags?: string[]) => {
    using directory = new Directory();
    await using demo = new Program(directory, "demo.ts", args, flags);
    return { status: await demo.status(), output: demo.output, errors: demo.errors, left: directory.leftovers() };
  };
  const help = await run(["--help"]);
  assertEquals([help.status, help.errors, help.left], [0, "", []]);
  for (const option of ["--redis", "--sections", "--help"]) assert(help.output.includes(option), help.output);

  const withoutSqlite = "data:text/javascript,process.getBuiltinModule = () => undefined";
  const mistakes: [status: number, says: string, args: string[], flags?: string[]][] = [
    [2, "'--foo'", ["--foo"]],
    [2, "'foo'", ["foo"]],
    [2, "--redis", ["--redis"]],
    [2, "'localhost:6379'", ["--redis", "localhost:6379"]],
    [2, "'0'", ["--sections", "0"]],
    [2, "'many'", ["--sections=many"]],
    [1, "ECONNREFUSED", ["--redis", `redis://127.0.0.1:${freePort()}`]],
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
