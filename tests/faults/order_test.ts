// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { until } from "../support/until.ts";
import { Fixture } from "./workers.ts";

const PROCESSES = 4;
const WORKERS = 32;
const SECTIONS = 3;
const ALL_SEEN = "all is seen";

Deno.test("acquire() overtakes nobody while processes hand the lock on along runs", async () => {
  await using fixture = await Fixture.open("redis", { reservesForLong: true });
  const { directory, server } = fixture;
  Deno.writeTextFileSync(`${directory}/counter`, "0");
  const [alone, ...crowd] = await fixture.workers(PROCESSES + 1);
  // The server knows the script then: an attempt that has to be sent again with it is not executed the first time.
  await alone!.ask({ do: "acquire", name: "b" }, "granted");
  await alone!.ask({ do: "release", name: "b" }, "released");
  const monitor = await server.connect().monitor();
  /** The places among all commands at which the server has seen an argument. */
  const seen = new Map<string, number[]>();
  let commands = 0;
  monitor.on("monitor", (_time: string, args: string[], source: string) => {
    if (source === "lua") return;
    commands++;
    for (const arg of args) seen.set(arg, [...seen.get(arg) ?? [], commands].slice(0, 2));
  });
  try {
    const sections = { do: "sections", name: "a", count: SECTIONS, directory } as const;
    // Two at a time: neighbours in the queue that are of one process make a run, however busy the machine is.
    for (let worker = 0; worker < WORKERS; worker += 2) {
      await Promise.all(crowd.flatMap((process) => [process.send(sections), process.send(sections)]));
    }
    await alone!.ask(sections, "sections");
    for (let worker = 0; worker < WORKERS; worker++) {
      await Promise.all(crowd.map((process) => process.next("sections")));
    }
    // What the server has seen before may still be on its way here.
    await server.command("ECHO", ALL_SEEN);
    await until(() => seen.has(ALL_SEEN), "the monitor has reported all commands");
    const lines = Deno.readTextFileSync(`${directory}/turns`).trimEnd().split("\n");
    const turns = lines.map((line) => line.split(" "));
    assertEquals(turns.length, (PROCESSES * WORKERS + 1) * SECTIONS);
    const fences = turns.map(([, fence]) => BigInt(fence!));
    assert(fences.every((fence, i) => i === 0 || fence > fences[i - 1]!), "fences rise from turn to turn");
    const once = turns.filter(([owner]) => seen.get(owner!)?.length === 1).length;
    assert(once > 0, "who is handed the lock along a run has made one attempt, and no release");
    // Each handle is one owner, which is an argument of each of its attempts.
    const asked = turns.map(([owner]) => seen.get(owner!)?.[0] ?? NaN);
    assertEquals(asked.filter((at, i) => i > 0 && !(at > asked[i - 1]!)), [], "places of who was overtaken");
  } finally {
    monitor.disconnect();
  }
});

Deno.test("cohort() lets in a waiter of another process while 32 workers of each want it", async () => {
  await using fixture = await Fixture.open("redis");
  const { directory } = fixture;
  Deno.writeTextFileSync(`${directory}/counter`, "0");
  const alone = await fixture.worker();
  const crowd = await Promise.all(Array.from({ length: PROCESSES }, () => fixture.worker({ keep: 10 })));
  const sections = { do: "sections", name: "a", count: 20, directory } as const;
  for (let worker = 0; worker < WORKERS; worker++) await Promise.all(crowd.map((process) => process.send(sections)));
  let done = 0;
  const all = crowd.map(async (process) => {
    for (let worker = 0; worker < WORKERS; worker++) {
      await process.next("sections");
      done++;
    }
  });
  let [longest, entered] = [0, 0];
  while (done === 0) {
    const since = performance.now();
    await alone.ask({ do: "acquire", name: "a" }, "granted");
    longest = Math.max(longest, performance.now() - since);
    if (done === 0) entered++;
    await alone.ask({ do: "release", name: "a" }, "released");
  }
  await Promise.all(all);
  console.log(`cohort({ keep: 10 }): the longest wait of a waiter of another process was ${longest.toFixed(0)} ms`);
  assert(entered > 0, "before any of the others had finished");
});
