import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Claim, StoreError } from "@holdfast/lock";
import type { RedisOptions } from "@holdfast/lock/redis";
import { POLL_MS, WAITER_TIMEOUT_MS } from "../../../src/stores/redis/constants.ts";
import * as scripts from "../../../src/stores/redis/scripts/generated.ts";
import { claimOf, grant } from "../../support/claims.ts";
import { settled } from "../../support/virtual_clock.ts";
import { FakeClient, replyError, type ScriptCall } from "./fake_client.ts";
import { serverStore } from "../../support/server_store.ts";

/** The names of the scripts by their SHA-1. */
const NAMES = new Map(Object.entries(scripts).map(([name, { sha }]) => [sha, name]));

type Answer = (client: FakeClient, call: ScriptCall, index: number) => unknown;

/**
 * A store whose client answers like this; `sent` gives the scripts that were sent, with the arguments from a place on.
 */
function fixture(answer: Answer, options: RedisOptions = {}, extra: object = {}) {
  const client: FakeClient = new FakeClient((call, index) => answer(client, call, index));
  Object.assign(client, extra);
  const store = serverStore(client.client, options);
  const sent = (from = Infinity) => {
    return client.calls.map(({ script, args }) => [NAMES.get(script) ?? "unknown", ...args.slice(from)].join(" "));
  };
  return { client, store, sent };
}

const WAITING = { enqueue: true };

Deno.test("evict() takes nothing where nobody holds the lock, in one script", async () => {
  const { store, sent } = fixture(() => [0]);
  assertEquals(await store.evict("a"), 0);
  assertEquals(sent(2), ["evict"]);
});

Deno.test("evict() with a handle takes the lock from nobody else", async () => {
  for (const [handle, digests] of [["handle two", ["two"]], ["handle three", undefined]] as const) {
    const { store, sent } = fixture((_, __, i) => i === 0 ? [0, ...holders(["one", "two"])] : [1]);
    assertEquals(await store.evict("a", { handle }), digests?.length ?? 0);
    assertEquals(sent(2), ["evict", ...digests === undefined ? [] : [["evict", ...digests].join(" ")]]);
  }
});

/** The digests and the handles of holders, as the script replies them. */
function holders(digests: readonly string[]): string[] {
  return digests.flatMap((digest) => [digest, `handle ${digest}`]);
}

Deno.test("evict() takes the lock from the holders that were named", async () => {
  for (const named of [["one"], ["one", "two"]]) {
    const { store, sent } = fixture((_, __, i) => i === 0 ? [0, ...holders(named)] : [named.length]);
    assertEquals(await store.evict("a"), named.length);
    assertEquals(sent(2), ["evict", ["evict", ...named].join(" ")]);
  }
});

Deno.test("evict() counts the named ones if it may have been sent twice", async () => {
  for (const [cut, evicted] of [[0, 0], [1, 2]] as const) {
    const { store } = fixture((client, _, i) => {
      if (i === cut) client.emit("close");
      return i === 0 ? [0, ...holders(["one", "two"])] : [0];
    });
    assertEquals(await store.evict("a"), evicted, "cut off before it was sent, or while it was");
  }
});

Deno.test("attempt() steals from all holders that were named so far", async () => {
  const { store, sent } = fixture((_, __, i) => [[":steal", "one", "two"], [":steal", "three"], "5"][i]);
  assertEquals(await store.attempt(claimOf("a"), { enqueue: false, steal: true }), { granted: true, fence: 5n });
  assertEquals(sent(6), ["attempt :steal", "attempt :steal  one two", "attempt :steal  one two three"]);
});

Deno.test("attempt() does not repeat a steal that may have been sent twice", async () => {
  const { store, sent } = fixture((client, _, i) => {
    if (i === 1) client.emit("close");
    return [":steal", `${i}`];
  });
  assertEquals(await store.attempt(claimOf("a"), { enqueue: false, steal: true }), { granted: false, retryAfter: 1 });
  assertEquals(sent().length, 2);
});

Deno.test("attempt() does not try to steal for ever, nor against a conflict", async () => {
  const endless = fixture((_, __, i) => {
    if (i > 1_000) throw new Error("for ever");
    return [":steal", `${i}`];
  });
  assertEquals((await endless.store.attempt(claimOf("a"), { enqueue: false, steal: true })).granted, false);
  const { store, sent } = fixture(() => [":permits=2", 1]);
  assertEquals(await store.attempt(claimOf("a", 3), { enqueue: false, steal: true }), {
    granted: false,
    conflict: { present: 2, own: true },
  });
  assertEquals(sent().length, 1);
});

Deno.test("attempt() sends the ticket of its handle until it is answered for good", async () => {
  const ends: Record<string, [reply: unknown, (store: ReturnType<typeof fixture>["store"], claim: Claim) => unknown]> =
    {
      granted: ["5", (store, claim) => store.attempt(claim, WAITING)],
      conflict: [[":shared", 0], (store, claim) => store.attempt(claim, WAITING)],
      released: [1, (store, claim) => store.release(claim)],
    };
  for (const [end, [reply, act]] of Object.entries(ends)) {
    const { store, client } = fixture((_, __, i) => i === 2 ? reply : [100, "7"], {}, { status: "connecting" });
    const claim = claimOf("a");
    const tickets = () => client.calls.map(({ args }) => args[5]);
    for (let i = 0; i < 2; i++) assertEquals((await store.attempt(claim, WAITING)).granted, false);
    assertEquals(tickets(), [undefined, "7"]);
    await act(store, claim);
    await store.attempt(claim, WAITING);
    assertEquals(tickets().at(-1), undefined, end);
  }
});

Deno.test("attempt() that does not queue sends no address, and one that does sends its own", async () => {
  const { store, client } = fixture(() => "5", {}, { status: "connecting" });
  for (const enqueue of [false, true]) await store.attempt(claimOf("a"), { enqueue });
  assertEquals(client.calls.map(({ args }) => args.slice(2)), [[], ["", "?holdfast:-"]]);
});

Deno.test("attempt() of a waiter that cannot be woken asks three times in its reservation", async () => {
  for (const [lease, proposed, after] of [[60_000, 5_000, 500], [600, 5_000, 200], [10, 5_000, 250 / 3], [600, 9, 9]]) {
    const { store } = fixture(() => [proposed, "7"], {}, { status: "connecting" });
    const answer = await store.attempt(claimOf("a", "exclusive", lease), WAITING);
    assertEquals(answer, { granted: false, retryAfter: after! });
  }
});

Deno.test("vote() of a quorum takes a conflict for a busy lock", async () => {
  const answers = [[":shared", 0], [70, "7"], "5", ["6"]];
  const { store } = fixture((_, __, i) => answers[i], {}, { status: "connecting" });
  const vote = () => store.vote(claimOf("a"), { enqueue: false, guess: 5n, maxClockSkew: 1 });
  assertEquals(await vote(), { granted: false, retryAfter: POLL_MS });
  assertEquals(await vote(), { granted: false, retryAfter: 70 });
  assertEquals(await vote(), { granted: true, counter: 5n, raised: true });
  assertEquals(await vote(), { granted: true, counter: 6n, raised: false });
  assertEquals(store.queueTimeout, WAITER_TIMEOUT_MS, "what a quorum knows of the queue is what the scripts do");
});

Deno.test("attempt(), vote() and confirm() reject for good where no fence is left", async () => {
  const { store } = fixture(() => [":fence", "9007199254740991"]);
  const claim = claimOf("a");
  for (
    const act of [
      () => store.attempt(claim, WAITING),
      () => store.vote(claim, { enqueue: true, guess: 5n, maxClockSkew: 1 }),
      () => store.confirm(claim, 5n),
    ]
  ) assert((await assertRejects(act, StoreError, "the last fence is 9007199254740991")).permanent, "for good");
});

Deno.test("renew() notifies the next waiter only if the lease is over earlier", async () => {
  for (
    const [reply, outcome, scripts] of [
      [0, "lost", ["renew"]],
      [1, "renewed", ["renew"]],
      [2, "renewed", ["renew", "notify"]],
    ] as const
  ) {
    const { store, sent } = fixture((_, { script }) => {
      if (NAMES.get(script) === "notify") throw new Error("nobody waits for this");
      return reply;
    });
    assertEquals(await store.renew(claimOf("a")), outcome);
    await settled();
    assertEquals(sent(), [...scripts]);
  }
});

Deno.test("release() resolves to true if it may have been sent twice", async () => {
  for (const [reply, cut, released] of [[0, false, false], [0, true, true], [1, false, true], [1, true, true]]) {
    const { store } = fixture((client) => {
      if (cut) client.emit("close");
      return reply;
    });
    assertEquals(await store.release(claimOf("a")), released);
  }
});

Deno.test("Store.connecting is true only while its client makes its first try", () => {
  for (
    const [status, connecting] of [
      ["wait", true],
      ["connecting", true],
      ["connect", true],
      ["ready", false],
      ["reconnecting", false],
      ["end", false],
      [undefined, false],
    ] as const
  ) {
    const { store, client } = fixture(() => 1, {}, { status });
    assertEquals([store.connecting, store.closed], [connecting, status === "end"], status);
    client.emit("error", new Error("no"));
    assertEquals(store.connecting, false);
  }
});

Deno.test("Store.session changes when the client is cut off", () => {
  const { store, client } = fixture(() => 1);
  assertEquals(store.session, 0);
  client.emit("close");
  assertEquals(store.session, 1);
});

/** What a pipeline of a renewal and a WAIT resolves to. */
type Piped = readonly [renewed: unknown, replicas: number] | Error;

/** A store that wants a replica; its pipelines are answered in turn, and other scripts like this. */
function replicated(piped: readonly Piped[], answer: Answer = () => "5") {
  const answers = piped.values();
  const pipeline = () => ({
    evalsha() {},
    wait() {},
    exec: () => {
      const { value = new Error("one pipeline too many") } = answers.next();
      if (value instanceof Error) return Promise.reject(value);
      return Promise.resolve([[null, value[0]], [null, value[1]]]);
    },
  });
  return fixture(answer, { replicas: { min: 1, timeout: 10 } }, { pipeline, status: "connecting" });
}

Deno.test("attempt() with replicas releases what too few of them have, and says so", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { store, sent } = replicated([[1, 0]], (_, { script }) => NAMES.get(script) === "release" ? promise : "5");
  let rejected = false;
  const granted = grant(store, claimOf("a")).catch((error: unknown) => {
    rejected = true;
    return error;
  });
  await settled();
  assertEquals([sent(), rejected], [["attempt", "release"], false]);
  resolve(1);
  const error = await granted;
  assert(error instanceof StoreError && error.message.includes("fewer than 1 replicas"), `${error}`);
});

Deno.test("attempt() with replicas grants what enough of them have", async () => {
  const { store, sent } = replicated([[1, 1]]);
  assertEquals(await grant(store, claimOf("a")), 5n);
  assertEquals(sent(), ["attempt"]);
});

Deno.test("attempt() with replicas asks them nothing while the lock is busy", async () => {
  const { store, sent } = replicated([], () => [100, "7"]);
  assertEquals((await store.attempt(claimOf("a"), WAITING)).granted, false);
  assertEquals(sent(), ["attempt"]);
});

Deno.test("attempt() with replicas releases nothing that is lost or unknown", async () => {
  for (const [piped, words] of [[[0, 1], "was lost before"], [[0, 0], "was lost before"], [new Error("cut"), "cut"]]) {
    const { store, sent } = replicated([piped as Piped]);
    const error = await assertRejects(() => grant(store, claimOf("a")), Error, words as string);
    assert(!(error instanceof StoreError), "it is not known what was done");
    assertEquals(sent(), ["attempt"]);
  }
});

Deno.test("attempt() with replicas releases the lock when its renewal is refused", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const { store, sent } = replicated(
    [replyError("READONLY no")],
    (_, { script }) => NAMES.get(script) === "release" ? promise : "5",
  );
  let rejected = false;
  const granted = grant(store, claimOf("a")).catch((error: unknown) => {
    rejected = true;
    return error;
  });
  await settled();
  assertEquals([sent(), rejected], [["attempt", "release"], false]);
  resolve(1);
  assert(await granted instanceof StoreError, "with the error of the server");
});

Deno.test("attempt() with replicas keeps its ticket until they have the lock", async () => {
  const { store, client } = replicated([[1, 0], [1, 1]], (_, __, i) => i === 0 ? [100, "7"] : "1");
  const claim = claimOf("a");
  await store.attempt(claim, WAITING);
  await assertRejects(() => store.attempt(claim, WAITING), StoreError);
  await store.attempt(claim, WAITING);
  await store.attempt(claim, WAITING).catch(() => {});
  const attempts = client.calls.filter(({ script }) => NAMES.get(script) === "attempt");
  assertEquals(attempts.map(({ args }) => args[5]), [undefined, "7", "7", undefined]);
});

Deno.test("renew() with replicas is unknown unless enough of them have it", async () => {
  const { store } = replicated([[1, 0], [1, 1], [0, 0], [0, 1]]);
  const claim = claimOf("a");
  const error = await assertRejects(() => store.renew(claim), Error, "fewer than 1 replicas");
  assert(!(error instanceof StoreError), "the server itself has it");
  assertEquals(await store.renew(claim), "renewed");
  for (let i = 0; i < 2; i++) assertEquals(await store.renew(claim), "lost");
});
