// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { acquire, type Lock, type Snapshot } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { freePort } from "../../../tests/support/free_port.ts";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { CliProcess, jsonLines } from "./cli_process.ts";
import { holdfast } from "./commands.ts";

/** A server with locks. */
class Fixture implements AsyncDisposable {
  readonly server: RedisServer;
  readonly store: ReturnType<typeof redis>;
  readonly url: string;
  readonly #locks: Lock[] = [];
  readonly #over = new AbortController();
  readonly #waiting: Promise<unknown>[] = [];

  private constructor(server: RedisServer) {
    this.server = server;
    this.store = redis(server.connect());
    this.url = `redis://127.0.0.1:${server.port}`;
  }

  static async start(): Promise<Fixture> {
    return new Fixture(await RedisServer.start());
  }

  /** Acquires a lock, held until the end. */
  async hold(name: string, options: Parameters<typeof acquire>[2] = {}): Promise<Lock> {
    const lock = await acquire(this.store, name, { strict: false, ...options });
    this.#locks.push(lock);
    return lock;
  }

  /** Waits for a lock until the end; resolves when it is in the queue. */
  async wait(name: string): Promise<void> {
    const count = async () => (await this.store.query!()).pending.filter((waiter) => waiter.name === name).length;
    const before = await count();
    const waiting = acquire(this.store, name, { strict: false, signal: this.#over.signal });
    this.#waiting.push(waiting.then((lock) => this.#locks.push(lock), () => {}));
    await until(async () => await count() > before, "it waits");
  }

  /** Resolves when a command has connected; rejects if it ends before. */
  async connects(command: CliProcess): Promise<void> {
    const name = "name=holdfast-cli";
    const connected = async () => String(await this.server.command("CLIENT", "LIST")).includes(name);
    await until(async () => await connected() || command.out + command.err !== "", "it connects", HANG_MS);
    assert(await connected(), command.out + command.err);
  }

  run(...args: string[]): ReturnType<typeof holdfast> {
    return holdfast(args, { store: this.url });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await Promise.all(this.#waiting);
    await Promise.all(this.#locks.map((lock) => lock.release().catch(() => {})));
    await this.server[Symbol.asyncDispose]();
  }
}

Deno.test("holdfast ls lists the locks in the order of their names", async () => {
  await using fixture = await Fixture.start();
  await fixture.hold("b");
  await fixture.hold("a", { mode: "shared" });
  await fixture.hold("a", { mode: "shared" });
  await fixture.hold("c", { permits: 3 });
  await fixture.wait("b");
  const { status, out, err } = await fixture.run("ls");
  assertEquals([status, err], [0, ""]);
  const [head = "", ...rows] = out.trimEnd().split("\n");
  assertEquals(head.split(/ {2,}/), ["NAME", "HELD BY", "MODE", "SINCE", "EXPIRES", "WAITING", "LONGEST WAIT"]);
  const cells = rows.map((row) => row.split(/ {2,}/));
  assertEquals(cells.map(([name, , mode, , , waiting]) => [name, mode, waiting]), [
    ["a", "shared", "-"],
    ["b", "exclusive", "1"],
    ["c", "3 permits", "-"],
  ]);
  assert(cells[0]![1]!.endsWith(" and 1 more"), out);
});

Deno.test("holdfast ls says on the standard error that there are no locks", async () => {
  await using fixture = await Fixture.start();
  assertEquals(await fixture.run("ls"), {
    status: 0,
    out: "",
    err: `holdfast: no lock is held or waited for in ${fixture.url} with the prefix lock:\n`,
  });
  assertEquals(await fixture.run("ls", "--json"), { status: 0, out: "", err: "" });
});

Deno.test("holdfast says that it reads from a replica", async () => {
  await using fixture = await Fixture.start();
  await using replica = await RedisServer.start();
  await fixture.hold("a");
  await replica.command("REPLICAOF", "127.0.0.1", String(fixture.server.port));
  await until(async () => await replica.command("DBSIZE") !== 0, "it has a copy");
  const store = `redis://127.0.0.1:${replica.port}`;
  const words =
    `holdfast: ${store} is a replica of 127.0.0.1:${fixture.server.port}, and lists what it has received: ` +
    "use the URL of the master\n";
  for (const [verb, status] of [[["ls"], 0], [["show", "a"], 0], [["wait", "a", "--timeout", "0"], 75]] as const) {
    const result = await holdfast([...verb, "--json"], { store });
    assertEquals([result.status, result.err], [status, words]);
    assertEquals(jsonLines<{ name: string }>(result.out).map(({ name }) => name), ["a"]);
  }
});

Deno.test("holdfast ls --json writes a lock with holders and waiters per line", async () => {
  await using fixture = await Fixture.start();
  const { fence } = await fixture.hold("a");
  await fixture.wait("a");
  const { out } = await fixture.run("ls", "--json");
  const [lock, ...others] = jsonLines<{ name: string; held: { fence?: string }[]; pending: { rank: number }[] }>(out);
  assertEquals([lock?.name, lock?.held.length, lock?.pending.map(({ rank }) => rank)], ["a", 1, [0]]);
  assertEquals(others, []);
  const known = lock?.held[0]?.fence;
  assert(known === undefined || known === `${fence}`, "the store that tells the fence tells the right one");
});

Deno.test("holdfast ls lists 10,000 locks", async () => {
  await using fixture = await Fixture.start();
  const pipeline = fixture.server.connect().pipeline();
  for (let i = 0; i < 10_000; i++) pipeline.set(`lock:n${i}`, crypto.randomUUID(), "PX", 600_000);
  await pipeline.exec();
  const { status, out } = await fixture.run("ls");
  assertEquals([status, out.split("\n").length], [0, 10_000 + 2]);
  const { out: json } = await fixture.run("ls", "--json");
  assertEquals(new Set(jsonLines<{ name: string }>(json).map(({ name }) => name)).size, 10_000);
});

Deno.test("holdfast shows hostile names without control characters, and each name anew", async () => {
  await using fixture = await Fixture.start();
  const names = ["\x1b[2J\x1b]0;title\x07", "a\nb\rc", "x\u202ey", "\x9b31m", "\u0000", " ", "--help", "ls", "é", '"'];
  for (const name of names) await fixture.hold(name);
  const { out } = await fixture.run("ls");
  assertEquals(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/u.test(out), false, out);
  assertEquals(out.trimEnd().split("\n").length, names.length + 1);
  const { out: json } = await fixture.run("ls", "--json");
  assertEquals(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/u.test(json), false, json);
  assertEquals(jsonLines<{ name: string }>(json).map(({ name }) => name).sort(), names.toSorted());
  // No program can be given a NUL as an argument.
  for (const name of names.filter((name) => name !== "\u0000")) {
    const { status, out } = await fixture.run("show", "--json", "--", name);
    assertEquals([status, jsonLines<{ name: string }>(out)[0]?.name], [0, name]);
  }
});

Deno.test("holdfast show --json is the store's own account of the lock", async () => {
  await using fixture = await Fixture.start();
  await fixture.hold("a");
  await fixture.wait("a");
  const { out } = await fixture.run("show", "a", "--json");
  const [{ name, held, pending }] = jsonLines<Snapshot & { name: string }>(out) as [Snapshot & { name: string }];
  const expected = await fixture.store.query!();
  assertEquals(name, "a");
  assertEquals([held, pending].map((all) => all.map(({ handle }) => handle)), [
    expected.held.map(({ handle }) => handle),
    expected.pending.map(({ handle }) => handle),
  ]);
});

Deno.test("holdfast wait ends when nobody holds the lock, and not before", async () => {
  await using fixture = await Fixture.start();
  const lock = await fixture.hold("a");
  await using waiting = new CliProcess(["wait", "a", "--json"], { store: fixture.url });
  await fixture.connects(waiting);
  const other = await fixture.run("wait", "a", "--timeout", "0");
  assertEquals([other.status, other.out, other.err.startsWith("holdfast: a is held by ")], [75, "", true]);
  assertEquals(waiting.out, "");
  await lock.release();
  const { status, out } = await waiting.end();
  const [result] = jsonLines<{ name: string; free: boolean }>(out);
  assertEquals([status, result?.name, result?.free], [0, "a", true]);
});

Deno.test("holdfast wait says nothing when the lock is free", async () => {
  await using fixture = await Fixture.start();
  assertEquals(await fixture.run("wait", "a"), { status: 0, out: "", err: "" });
});

Deno.test("holdfast wait ends with 75 when its time is over", async () => {
  await using fixture = await Fixture.start();
  await fixture.hold("a");
  const started = performance.now();
  const { status, err } = await fixture.run("wait", "a", "--timeout", "300ms");
  assertEquals([status, /^holdfast: a is held by .* after \d+m?s\n$/.test(err)], [75, true], err);
  assert(performance.now() - started >= 300, "it has waited");
});

Deno.test("holdfast evict takes the lock from its holder, who learns of it", async () => {
  await using fixture = await Fixture.start();
  const lock = await fixture.hold("a");
  const lost = new Promise<void>((resolve) => lock.signal.addEventListener("abort", () => resolve()));
  // Who took it is in the message; a holder that did not listen yet only sees that it has lost it.
  const listens = async () => /,1$/.test(String(await fixture.server.command("PUBSUB", "NUMSUB", "holdfast:evicted")));
  await until(listens, "the holder listens");
  const { status, out, err } = await fixture.run("evict", "a", "--yes");
  assertEquals([status, err], [0, ""]);
  assert(
    new RegExp(`^Took a away from \\S+ \\(fence ${lock.fence}\\).\nA holder is not stopped by that`).test(out),
    out,
  );
  await lost;
  assertEquals(lock.held, false);
  const reason = String(lock.signal.reason);
  assert(/it was taken away by {.*"pid":"\d+","command":"holdfast evict"}$/.test(reason), reason);
  assertEquals(await fixture.run("evict", "a", "--yes", "--json"), {
    status: 0,
    out: '{"name":"a","evicted":0,"lost":[]}\n',
    err: "",
  });
});

Deno.test("holdfast evict does nothing where nobody can be asked, without --yes", async () => {
  await using fixture = await Fixture.start();
  const lock = await fixture.hold("a");
  const { status, err } = await fixture.run("evict", "a");
  assertEquals([status, err], [
    2,
    "holdfast: nobody can be asked here: give --yes to take the lock away without a question\n",
  ]);
  await lock.extend();
});

Deno.test("holdfast watch writes a line for each change, and ends with 130 on Ctrl-C", async () => {
  await using fixture = await Fixture.start();
  const first = await fixture.hold("a");
  await using watching = new CliProcess(["watch", "a*", "--interval", "50ms"], { store: fixture.url });
  await watching.printed(" holds (exclusive)\n");
  await fixture.hold("b");
  await fixture.wait("a");
  await watching.printed(" waits (exclusive)\n");
  await first.release();
  await watching.printed(" ended (exclusive)\n");
  await until(() => watching.out.split(" holds (").length === 3, "the waiter holds it");
  watching.signal("SIGINT");
  const { status, out, err } = await watching.end();
  assertEquals([status, err], [130, ""]);
  const changes = out.trimEnd().split("\n").map((line) => /^\S+Z (.): \S+ (\w+) /.exec(line)?.slice(1).join(" "));
  assertEquals(changes, ["a holds", "a waits", "a ended", "a holds"]);
});

Deno.test("holdfast watch --json goes on after a failure of the store", async () => {
  await using fixture = await Fixture.start();
  const { server } = fixture;
  await fixture.hold("a");
  await using watching = new CliProcess(["watch", "--json", "--interval", "50ms"], { store: fixture.url });
  await watching.printed('"holds"');
  await server.kill();
  await until(() => watching.err !== "", "the failure is told");
  await server.start();
  await watching.printed('"ended"');
  watching.signal("SIGTERM");
  assertEquals((await watching.end()).status, 143);
  assertEquals(watching.err.trimEnd().split("\n").length, 1, watching.err);
});

Deno.test("holdfast names an unreachable server, and why, with status 69", async () => {
  const url = `redis://:secret@127.0.0.1:${freePort()}`;
  const { status, out, err } = await holdfast(["show", "a"], { store: url });
  assertEquals([status, out, err.includes("secret"), err.trimEnd().split("\n").length], [69, "", false, 1], err);
  assert(/^holdfast: .* redis:\/\/127\.0\.0\.1:\d+ .*ECONNREFUSED/.test(err), err);
});

Deno.test("holdfast names a server that does not answer, with status 69", async () => {
  await using server = await RedisServer.start();
  server.freeze();
  const { status, err } = await holdfast(["ls"], { store: `redis://127.0.0.1:${server.port}` });
  assertEquals([status, err], [69, `holdfast: No answer from redis://127.0.0.1:${server.port} within 5 s\n`]);
});

Deno.test("holdfast says which right a user lacks", async () => {
  await using server = await RedisServer.start(["--user", "watcher", "on", ">pw", "~*", "+ping", "+info"]);
  const { status, err } = await holdfast(["ls"], { store: `redis://watcher:pw@127.0.0.1:${server.port}` });
  assertEquals([status, err.includes("scan"), err.trimEnd().split("\n").length], [69, true, 1], err);
});

Deno.test("holdfast says that a login is refused", async () => {
  await using server = await RedisServer.start(["--requirepass", "right"]);
  const { status, err } = await holdfast(["ls"], { store: `redis://:wrong@127.0.0.1:${server.port}` });
  assertEquals([status, /WRONGPASS|NOAUTH/.test(err), err.includes("wrong@")], [69, true, false], err);
});

Deno.test("holdfast uses the database and the prefix of the URL", async () => {
  await using fixture = await Fixture.start();
  const store = redis(fixture.server.connect({ db: 2 }), { prefix: "billing:" });
  const lock = await acquire(store, "a");
  assertEquals((await holdfast(["show", "a"], { store: `${fixture.url}/2?prefix=billing:` })).status, 0);
  assertEquals((await holdfast(["show", "a"], { store: `${fixture.url}/2` })).status, 1);
  assertEquals((await holdfast(["show", "a"], { store: `${fixture.url}?prefix=billing:` })).status, 1);
  await lock.release();
});

Deno.test("holdfast ends a wait on Ctrl-C with 130, and leaves nothing on the server", async () => {
  await using fixture = await Fixture.start();
  const lock = await fixture.hold("a");
  await using waiting = new CliProcess(["wait", "a"], { store: fixture.url });
  await fixture.connects(waiting);
  waiting.signal("SIGINT");
  assertEquals(await waiting.end(), { status: 130, out: "", err: "" });
  await lock.release();
  await until(async () => (await fixture.server.leftovers()).length === 0, "nothing is left");
});

Deno.test("holdfast ends quietly when nobody reads its output any more", async () => {
  await using fixture = await Fixture.start();
  const pipeline = fixture.server.connect().pipeline();
  for (let i = 0; i < 5_000; i++) pipeline.set(`lock:n${i}`, crypto.randomUUID(), "PX", 600_000);
  await pipeline.exec();
  const program = new URL("../mod.ts", import.meta.url).pathname;
  const script = `"$0" run --quiet --allow-all "$1" ls --json --store "$2" | head -n 1; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = await new Deno.Command("bash", {
    args: ["-c", script, Deno.execPath(), program, fixture.url],
    stdin: "null",
  }).output();
  const [, status] = new TextDecoder().decode(stdout).trimEnd().split("\n");
  assertEquals([status, new TextDecoder().decode(stderr)], ["141", ""]);
});
