// Deno only: it runs the command line, which needs node:readline and node:util, which not every runtime has.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { acquire, type Entry, type Lock, type Snapshot, type Store, tryAcquire } from "@holdfast/lock";
import { memory } from "@holdfast/lock/memory";
import { UsageError } from "../src/command.ts";
import { evict } from "../src/commands/evict.ts";
import { ls } from "../src/commands/ls.ts";
import { show } from "../src/commands/show.ts";
import { watch } from "../src/commands/watch.ts";
import { until } from "../../../tests/support/until.ts";
import { IDLE, invoke } from "./invoke.ts";

const WEB = { host: "web-1", pid: "4711" };

/** Shown as `1h 1m`, also when a slow machine lists it half a minute later. */
const LEASE = 3_690_000;

/** Waits for a lock until it is aborted; resolves when it is in the queue. */
async function waiting(store: Store, name: string, meta: Record<string, string>): Promise<AbortController> {
  const over = new AbortController();
  const count = async () => (await store.query!({ name })).pending.length;
  const before = await count();
  acquire(store, name, { signal: over.signal, meta }).catch(() => {});
  await until(async () => await count() > before, "it waits");
  return over;
}

async function release(...locks: Lock[]): Promise<void> {
  for (const lock of locks) await lock.release();
}

Deno.test("ls shows host and process of the holder, age, lease and waiters", async () => {
  const store = memory();
  const lock = await acquire(store, "invoice:42", { lease: LEASE, meta: WEB });
  const waiter = await waiting(store, "invoice:42", {});
  const { status, out } = await invoke(ls, store, []);
  assertEquals([status, out.length], [0, 2]);
  assertEquals(out[0]?.split(/ {2,}/), ["NAME", "HELD BY", "MODE", "SINCE", "EXPIRES", "WAITING", "LONGEST WAIT"]);
  assert(/^invoice:42 {2}web-1\/4711 {2}exclusive {2}\d+m?s +1h 1m {2,}1 {8}\d+m?s$/.test(out[1] ?? ""), out[1]);
  waiter.abort();
  await release(lock);
});

Deno.test("ls shows of several holders the oldest and how many more, and the last lease", async () => {
  const store = memory();
  const locks = await Promise.all([100_000, LEASE, 200_000].map((lease, i) => {
    return tryAcquire(store, "a", { mode: "shared", lease, meta: { host: `h${i}`, pid: "1" } });
  }));
  const { out } = await invoke(ls, store, []);
  assert(/^a {2,}h0\/1 and 2 more {2}shared {2}\d+m?s +1h 1m {2,}- {8}-$/.test(out[1] ?? ""), out[1]);
  await release(...locks.map((lock) => lock!));
});

Deno.test("ls names the owner where nothing else is known", async () => {
  const store = memory();
  const lock = await acquire(store, "a", { owner: "job\x1b7", meta: false });
  const { out } = await invoke(ls, store, []);
  assert(out[1]?.includes('"job\\u001b7"'), out[1]);
  await release(lock);
});

Deno.test("ls reads all pages, and lists a lock once that is on two of them", async () => {
  const entry = (name: string) => ({ name, owner: name, handle: name, mode: "exclusive" as const });
  const pages: Record<string, Snapshot> = {
    "": { held: [entry("b"), entry("c")], pending: [], cursor: "1" },
    "1": { held: [], pending: [], cursor: "2" },
    "2": { held: [entry("b"), entry("a")], pending: [] },
  };
  const store: Store = { ...IDLE, query: ({ cursor = "" } = {}) => Promise.resolve(pages[cursor]!) };
  const { out } = await invoke(ls, store, []);
  assertEquals(out.join("\n").split("\n").slice(1).map((line) => line.slice(0, 1)), ["a", "b", "c"]);
  const { out: json } = await invoke(ls, store, ["--json"]);
  assertEquals(json.map((line) => JSON.parse(line).name), ["b", "c", "a"]);
});

Deno.test("ls asks for the pages of what matches its pattern", async () => {
  const asked: unknown[] = [];
  const store: Store = {
    ...IDLE,
    query: (options) => {
      asked.push(options);
      return Promise.resolve({ held: [], pending: [] });
    },
  };
  for (const args of [[], ["a*"], ["a"]]) await invoke(ls, store, args);
  assertEquals(asked, [{ limit: 500 }, { match: "a*", limit: 500 }, { name: "a" }]);
});

Deno.test("ls says what it has found nothing of, and where", async () => {
  const opened = { prefix: "billing:" };
  const words: Record<string, string> = {
    "": "no lock is held or waited for",
    "invoce:*": "no lock whose name matches invoce:* is held or waited for",
    "invoce:42": "no lock whose name is invoce:42 is held or waited for",
  };
  for (const [pattern, said] of Object.entries(words)) {
    const { status, err } = await invoke(ls, memory(), pattern === "" ? [] : [pattern], { opened });
    assertEquals([status, ...err], [0, `holdfast: ${said} in memory with the prefix billing:`]);
  }
});

Deno.test("show and evict say that a pattern is none, and where they have looked", async () => {
  const opened = { prefix: "billing:" };
  const hint = "holdfast: in a name * is a character like any other: holdfast ls 'invoice:*' lists what matches";
  const place = "in memory with the prefix billing:";
  assertEquals(await invoke(show, memory(), ["invoice:*"], { opened }), {
    status: 1,
    out: [`invoice:*: nobody holds it, nobody waits for it ${place}`],
    err: [hint],
  });
  assertEquals(await invoke(evict, memory(), ["invoice:*", "--yes"], { opened }), {
    status: 0,
    out: [`Nobody held invoice:* ${place}`],
    err: [hint.replace("ls", "evict --match")],
  });
});

Deno.test("evict --match lists what it would take away, and takes it with --yes", async () => {
  const store = memory();
  const meta = { host: "web-1", pid: "4711" };
  const names = ["import:1", "import:2", "report"];
  const locks = await Promise.all(names.map((name) => acquire(store, name, { meta, strict: false })));
  const fences = locks.map(({ fence }) => fence);
  const dry = await invoke(evict, store, ["--match", "import:*"]);
  assertEquals(dry.out.map((line) => line.split(/ {2,}/)[0]), ["NAME", "import:1", "import:2"]);
  const said = "holdfast: nothing was taken away: with --yes, 2 locks would be";
  assertEquals([dry.status, ...dry.err], [0, said]);
  const lines = (await invoke(evict, store, ["--match", "import:*", "--json"])).out.map((line) => JSON.parse(line));
  assertEquals(lines.map(({ name, evicted, held }) => [name, evicted, held.length]), [
    ["import:1", 0, 1],
    ["import:2", 0, 1],
  ]);
  assertEquals(locks.map(({ held }) => held), [true, true, true]);
  assertEquals(await invoke(evict, store, ["--match", "import:*", "--yes"]), {
    status: 0,
    out: names.slice(0, 2).map((name, i) => `Took ${name} away from web-1/4711 (fence ${fences[i]}).`),
    err: [],
  });
  assertEquals((await store.query()).held.map(({ name }) => name), ["report"]);
  const [line] = (await invoke(evict, store, ["--match", "r*", "--yes", "--json"])).out;
  assertEquals(JSON.parse(line ?? "").evicted, 1);
  // One that is kept for a waiter has no holder yet.
  const pending = [{ name: "r", owner: "w", handle: "w", mode: "exclusive" as const, rank: 0 }];
  const reserved: Store = {
    ...IDLE,
    query: () => Promise.resolve({ held: [], pending }),
    evict: () => Promise.reject(new Error("nobody holds it")),
  };
  const none = "holdfast: no lock whose name matches r* is held in memory";
  assertEquals((await invoke(evict, reserved, ["--match", "r*", "--yes"])).err, [none]);
  assertEquals(await invoke(evict, store, ["--match", "r*", "--yes"]), { status: 0, out: [], err: [none] });
  for (const lock of locks) await lock[Symbol.asyncDispose]();
});

Deno.test("evict --match takes nothing from a holder that comes after it has looked", async () => {
  const store = memory();
  const first = await acquire(store, "a", { strict: false });
  let next: Lock | undefined;
  const looks: Store = {
    ...IDLE,
    query: async (options) => {
      const snapshot = await store.query(options);
      await first.release();
      next ??= await acquire(store, "a");
      return snapshot;
    },
    evict: (name, options) => store.evict(name, options),
  };
  const { status, out } = await invoke(evict, looks, ["--match", "*", "--yes"]);
  assertEquals([status, out.length, next?.held], [0, 1, true]);
  assert(out[0]?.endsWith("nothing was taken from anybody else."), out[0]);
  assertEquals((await store.query()).held.length, 1);
  await release(next!);
});

Deno.test("evict --match refuses what does not go with it", async () => {
  const wrong = [["a", "--match", "*"], ["--match", "*", "--fence", "7"], ["--match", ""]];
  for (const words of wrong) await assertRejects(() => invoke(evict, memory(), words), UsageError);
  await assertRejects(() => invoke(evict, IDLE, ["--match", "*"]), UsageError, "cannot take locks away");
});

Deno.test("ls and watch warn of a store that lists only some of the locks", async () => {
  const opened = { partial: () => Promise.resolve("only half of them") };
  assertEquals((await invoke(ls, memory(), ["--json"], { opened })).err, ["holdfast: only half of them"]);
});

Deno.test("ls and show say that nobody holds a lock yet that others wait for", async () => {
  const waiter = { name: "a", owner: "w", handle: "w", mode: "exclusive" as const, rank: 0 };
  const store: Store = { ...IDLE, query: () => Promise.resolve({ held: [], pending: [waiter] }) };
  assertEquals((await invoke(ls, store, [])).out[1]?.split(/ {2,}/), [
    "a",
    "nobody yet",
    "exclusive",
    "-",
    "-",
    "1",
    "-",
  ]);
  assertEquals((await invoke(show, store, ["a"])).out[0], "a: nobody holds it yet; 1 waiting");
});

Deno.test("ls counts the members of a run as waiting, and show and watch say what they are", async () => {
  const entry = { name: "a", owner: "o", handle: "h", mode: "exclusive" as const, meta: WEB };
  const pending = [{ ...entry, handle: "m", member: true, rank: 0 }, { ...entry, handle: "w", rank: 1 }];
  const store: Store = { ...IDLE, query: () => Promise.resolve({ held: [entry], pending }) };
  assertEquals((await invoke(ls, store, [])).out[1]?.split(/ {2,}/)[5], "2");
  const { out } = await invoke(show, store, ["a"]);
  assertEquals(out[0], "a: held by web-1/4711; 2 waiting");
  assertEquals(out.slice(-2).map((line) => line.split(/ {2,}/).slice(0, 3)), [
    ["0", "web-1/4711", "exclusive, in the holder's run"],
    ["1", "web-1/4711", "exclusive"],
  ]);
  const { pending: listed } = JSON.parse((await invoke(show, store, ["a", "--json"])).out[0]!);
  assertEquals(listed.map(({ member }: Entry & { member?: boolean }) => member), [true, undefined]);
  for (
    const [words, line] of [[[], "a: web-1/4711 waits (exclusive, in the holder's run)"], [["--json"], '"member":true']]
  ) {
    const over = new AbortController();
    const seen: string[] = [];
    const onLine = (text: string) => {
      seen.push(text);
      if (seen.length === 3) over.abort(new Error("enough"));
    };
    await assertRejects(
      () => invoke(watch, store, words as string[], { signal: over.signal, onLine }),
      Error,
      "enough",
    );
    assert(seen[1]!.includes(line as string), seen.join("\n"));
  }
});

Deno.test("ls and the queue of show fit into a narrow terminal", async () => {
  const store = memory();
  const lock = await acquire(store, "invoice:42", { meta: { ...WEB, job: "j".repeat(200) } });
  const waiter = await waiting(store, "invoice:42", { ...WEB, job: "j".repeat(200) });
  const size = { columns: 30, rows: 24 };
  const { out } = await invoke(ls, store, [], { size });
  assert(out.join("\n").split("\n").every((line) => line.length <= 30 && line.endsWith("…")), out.join("\n"));
  const { out: shown } = await invoke(show, store, ["invoice:42"], { size });
  assert(shown.slice(-2).every((line) => line.length <= 30 && line.endsWith("…")), shown.join("\n"));
  assert(shown.some((line) => line.includes("j".repeat(200))), "nothing of the holder is cut");
  waiter.abort();
  await release(lock);
});

/** A store with locks that are held, each with a waiter for each of these ages in seconds. */
function queues(ages: Record<string, readonly number[]>): Store {
  const entry = (name: string) => ({ name, owner: name, handle: name, mode: "exclusive" as const });
  const names = Object.keys(ages);
  const pending = names.flatMap((name) =>
    ages[name]!.map((age, rank) => ({ ...entry(name), rank, since: Date.now() - age * 1_000 }))
  );
  return { ...IDLE, query: () => Promise.resolve({ held: names.map(entry), pending }) };
}

/** Returns the first column of a table, without its head. */
function firstColumn(out: readonly string[]): string[] {
  return out.join("\n").split("\n").slice(1).map((line) => line.split(" ")[0]!);
}

Deno.test("ls --sort wait shows the longest wait first, and by default the names in order", async () => {
  const store = queues({ a: [], b: [3_690], c: [], d: [5, 7_290] });
  const { out, err } = await invoke(ls, store, ["--sort", "wait"]);
  assertEquals(firstColumn(out), ["d", "b", "a", "c"]);
  assertEquals(err, ["holdfast: 4 held, 3 waiting, 2 contended"]);
  assertEquals(out[1]!.split("\n").map((line) => line.split(/ {2,}/).slice(-2)), [
    ["2", "2h 1m"],
    ["1", "1h 1m"],
    ["-", "-"],
    ["-", "-"],
  ]);
  for (const words of [[], ["--sort", "name"]]) {
    assertEquals(firstColumn((await invoke(ls, store, words)).out), ["a", "b", "c", "d"]);
  }
});

Deno.test("ls --contended shows only locks that somebody waits for, and counts all", async () => {
  const store = queues({ a: [], b: [60], c: [5] });
  const { out, err } = await invoke(ls, store, ["--contended"]);
  assertEquals([firstColumn(out), err], [["b", "c"], ["holdfast: 3 held, 2 waiting, 2 contended"]]);
  const { out: none, err: totals } = await invoke(ls, queues({ a: [] }), ["--contended"]);
  assertEquals([none, totals], [[], ["holdfast: 1 held, 0 waiting, 0 contended"]]);
});

Deno.test("ls --json lists what it is asked for, in the order that it is asked for", async () => {
  const store = queues({ c: [1], a: [], b: [60] });
  const names = async (...words: string[]) => {
    const { out, err } = await invoke(ls, store, ["--json", ...words]);
    assertEquals(err, []);
    return out.map((line) => JSON.parse(line).name);
  };
  assertEquals(await names("--contended"), ["c", "b"]);
  assertEquals(await names("--contended", "--sort", "wait"), ["b", "c"]);
  assertEquals(await names("--sort", "name"), ["a", "b", "c"]);
});

Deno.test("ls says that it has not read all locks, and how many it has", async () => {
  const held = Array.from({ length: 100_000 }, (_, i) => {
    return { name: `${i}`, owner: "o", handle: `${i}`, mode: "exclusive" as const };
  });
  const store: Store = { ...IDLE, query: () => Promise.resolve({ held, pending: [], cursor: "more" }) };
  const { status, err } = await invoke(ls, store, ["--contended"]);
  assertEquals([status, err], [0, [
    "holdfast: there are more locks than the first 100000, which were read: give a pattern",
    "holdfast: 100000 held, 0 waiting, 0 contended",
  ]]);
});

Deno.test("ls refuses an order that it does not know", async () => {
  await assertRejects(() => invoke(ls, IDLE, ["--sort", "age"]), UsageError, "--sort must be wait or name: got age");
});

Deno.test("ls refuses a store that cannot list", async () => {
  await assertRejects(() => invoke(ls, IDLE, []), UsageError, "memory cannot list its locks");
});

Deno.test("show tells all of the holders and of the queue", async () => {
  const store = memory();
  const lock = await acquire(store, "invoice:42", { lease: LEASE, meta: { ...WEB, job: "im port" } });
  const first = await waiting(store, "invoice:42", { host: "web-2", pid: "1" });
  const second = await waiting(store, "invoice:42", { host: "web-3", pid: "2" });
  const { status, out } = await invoke(show, store, ["invoice:42"]);
  assertEquals(status, 0);
  const text = out.join("\n");
  const expected = [
    /^invoice:42: held by web-1\/4711; 2 waiting$/,
    /^$/,
    /^holder {3}web-1\/4711$/,
    /^mode {5}exclusive$/,
    /^since {4}\d{4}-\d\d-\d\dT[\d:.]+Z \(\d+m?s ago\)$/,
    /^expires {2}in 1h 1m, unless it is renewed$/,
    new RegExp(`^fence {4}${lock.fence}$`),
    /^owner {4}[0-9a-f-]{36}$/,
    /^meta {5}.*host=web-1.*job=im port/,
    /^$/,
    /^RANK {2}WAITER {3}MODE {7}WAITING {2}HANDLE +META$/,
    /^0 {5}web-2\/1 {2}exclusive {2}\d+m?s +[0-9a-f-]{36} {2}.*host=web-2/,
    /^1 {5}web-3\/2 {2}exclusive {2}\d+m?s +[0-9a-f-]{36} {2}.*host=web-3/,
  ];
  assertEquals(out.length, expected.length, text);
  for (const [i, line] of expected.entries()) assert(line.test(out[i]!), `${out[i]} is not ${line}`);
  first.abort();
  second.abort();
  await release(lock);
});

Deno.test("show tells the handle of an owner that was given, and permits", async () => {
  const store = memory();
  const lock = await acquire(store, "a", { permits: 2, owner: "me" });
  const { out } = await invoke(show, store, ["a"]);
  assert(out.some((line) => line === "owner    me"), out.join("\n"));
  assert(out.some((line) => /^handle {3}me\/[0-9a-f-]{36}$/.test(line)), out.join("\n"));
  assert(out.some((line) => line === "mode     2 permits"), out.join("\n"));
  await release(lock);
});

Deno.test("show tells what a store does not know", async () => {
  const held = [{ name: "a", owner: "o", handle: "o", mode: "exclusive" as const }];
  const store: Store = { ...IDLE, query: () => Promise.resolve({ held, pending: [] }) };
  const { out } = await invoke(show, store, ["a"]);
  for (const line of ["since    -", "expires  -", "fence    -", "meta     -"]) {
    assert(out.includes(line), out.join("\n"));
  }
});

Deno.test("ls says nothing on a standard error that nobody reads, as that of cron", async () => {
  const { out, err } = await invoke(ls, queues({ a: [1] }), [], { attended: false });
  assertEquals([firstColumn(out), err], [["a"], []]);
});
