import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { storeSuite } from "@holdfast/lock/testing";
import { RedisServer } from "../redis_server.ts";
import { type Copy, exclusiveOnly } from "./exclusive_only.ts";
import { EDITS } from "./feature_edits.ts";
import { trial } from "./features.ts";

/** Runs with a new directory. */
async function inDirectory<T>(run: (directory: string) => Promise<T>): Promise<T> {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_exclusive_" });
  try {
    return await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

let copy: Promise<Copy> | undefined;
const stripped = () => copy ??= inDirectory(exclusiveOnly);

storeSuite({
  test: (name, run) => Deno.test(`redis with exclusive locks only: ${name}`, run),
  open: async () => {
    const { redis } = await stripped();
    const server = await RedisServer.start();
    return {
      connect: () => redis(server.connect()),
      leftovers: () => server.leftovers(),
      close: () => server[Symbol.asyncDispose](),
    };
  },
});

Deno.test("acquire() of a copy with exclusive locks only goes from hand to hand", async () => {
  await using server = await RedisServer.start();
  await trial(await stripped(), "handoff", { server, progress: () => {} });
});

Deno.test("exclusiveOnly() gives a copy that knows none of the features", async () => {
  const { acquire, redis } = await stripped();
  const client = { evalsha() {}, eval() {}, duplicate() {}, on() {} } as never;
  for (const options of [{ mode: "shared" }, { permits: 2 }, { owner: "me" }, { steal: true }] as const) {
    await assertRejects(() => acquire(client, "a", options), TypeError, "unknown option");
  }
  assertThrows(() => redis(client, { observer: () => {} }), TypeError, "unknown option");
});

Deno.test("exclusiveOnly() rejects when the source is not what the edits are for", async () => {
  const wrong = {
    "This does not stand once in src/acquire.ts": { ...EDITS, "acquire.ts": [["what nobody wrote"]] },
    "This does not stand once in src/lock.ts": { ...EDITS, "lock.ts": [["Promise<void>"]] },
    "No lock needs src/acquire_all.ts": { ...EDITS, "acquire_all.ts": [["acquireAll"]] },
    "What was to be taken out of src/lease.ts is still there": { ...EDITS, "lease.ts": [] },
  } as const;
  for (const [words, edits] of Object.entries(wrong)) {
    const error = await assertRejects(() => inDirectory((directory) => exclusiveOnly(directory, edits)), Error);
    assertEquals(error.message.slice(0, words.length), words);
  }
});
