import { assert, assertEquals, assertThrows } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { attempt } from "../../../src/stores/redis/commands/attempt.ts";
import { confirm, inspect, retake, vote } from "../../../src/stores/redis/commands/quorum.ts";
import { evict, held, release, renew } from "../../../src/stores/redis/commands/holder.ts";
import { decodeKind, encodeKind } from "../../../src/stores/redis/commands/values.ts";
import { entries } from "../../../src/stores/redis/commands/entries.ts";
import { lockKeys } from "../../../src/stores/redis/keys/keys.ts";
import { claimOf, LONG } from "../../support/claims.ts";

const claim = claimOf("a");

Deno.test("attempt.decode() reads a grant, a place in the queue, holders and conflicts", () => {
  const decode = (reply: unknown) => attempt.decode(reply, { claim });
  for (const fence of ["1700000000000000", 1_700_000_000_000_000]) {
    assertEquals(decode(fence), { granted: true, fence: 1_700_000_000_000_000n });
  }
  assertEquals(decode([70, "5"]), { granted: false, retryAfter: 70, ticket: "5" });
  assertEquals(decode([":steal", "one", "two"]), { granted: false, retryAfter: 1, ticket: "", others: ["one", "two"] });
  for (const [word, present] of [[":shared", "shared"], [":permits=12", 12], [":exclusive", "exclusive"]] as const) {
    for (const own of [true, false]) {
      assertEquals(decode([word, own ? 1 : 0]), { granted: false, conflict: { present, own } });
    }
  }
  assertThrows(() => decode([":fence", "9"]), StoreError, "the last fence is 9");
});

Deno.test("vote.decode() reads a raised counter, one that was not raised, and a busy lock", () => {
  const decode = (reply: unknown) => vote.decode(reply, { claim, guess: 1n, maxClockSkew: 1 });
  assertEquals(decode("5"), { granted: true, counter: 5n, raised: true });
  assertEquals(decode(["5"]), { granted: true, counter: 5n, raised: false });
  assertEquals(decode([70, "5"]), { granted: false, retryAfter: 70, ticket: "5" });
});

Deno.test("release.decode() and others take 1 for yes and 0 for no", () => {
  for (const [reply, yes] of [[1, true], ["1", true], [0, false], ["0", false]] as const) {
    assertEquals(release.decode(reply, claim), yes);
    assertEquals(retake.decode(reply, { claim, fence: 1n, counter: 1n }), yes);
    assertEquals(confirm.decode(reply, { claim, fence: 1n }), yes);
  }
  assertThrows(() => confirm.decode([":fence", "9"], { claim, fence: 1n }), StoreError, "the last fence is 9");
});

Deno.test("renew.decode() reads whether it was renewed, and whether to an earlier end", () => {
  const outcomes = [0, 1, 2].map((reply) => renew.decode(reply, claim));
  assertEquals(outcomes.map(({ renewed }) => renewed), [false, true, true]);
  assertEquals(outcomes.map(({ earlier }) => earlier), [false, false, true]);
});

Deno.test("inspect.decode() and evict.decode() read numbers and names", () => {
  const states = [0, "1", 2].map((state) => inspect.decode([state, "7"], claim));
  assertEquals(states.map(({ state }) => state), ["taken", "free", "held"]);
  assertEquals(states.map(({ counter }) => counter), [7n, 7n, 7n]);
  const others = [{ digest: "one", handle: "first" }, { digest: "two", handle: "second" }];
  assertEquals(evict.decode(["2", "one", "first", "two", "second"], { digests: [], meta: undefined }), {
    evicted: 2,
    others,
  });
});

Deno.test("entries.decode() reads the handles of a lock and what is known of them, in order", () => {
  const decode = (reply: unknown) => entries.decode(reply, { name: "a" });
  const held = ["x", "x/1", ":shared", 70, '7:1700000000123456{"pid":"1"}', "y", "y", ":permits=3", -1, ":"];
  const pending = ["z", "z", "", "1700000000123999", '{"pid":"2"}', "w", "w", "", "7000", ""];
  assertEquals(decode([held, pending]), {
    held: [
      {
        ...{ name: "a", owner: "x", handle: "x/1", mode: "shared", meta: { pid: "1" }, since: 1_700_000_000_123 },
        ...{ expiresIn: 70, fence: 7n },
      },
      { name: "a", owner: "y", handle: "y", mode: "exclusive", permits: 3 },
    ],
    pending: [
      {
        ...{ name: "a", owner: "z", handle: "z", mode: "exclusive", meta: { pid: "2" }, since: 1_700_000_000_123 },
        rank: 0,
      },
      { name: "a", owner: "w", handle: "w", mode: "exclusive", since: 7, rank: 1 },
    ],
  });
  for (const none of [[], [[]], [[], []]]) assertEquals(decode(none), { held: [], pending: [] });
});

Deno.test("entries.decode() leaves out what is no number, and a meta that is none", () => {
  for (const record of ["", "rival", ":x", ":5", "5:", ':{"pid":1}', ":[]", ":{"]) {
    const { held: [entry] } = entries.decode([["x", "x", "", 0, record], []], { name: "a" });
    const { since, fence, meta } = entry!;
    assertEquals([since, fence, meta], [record === ":5" ? 0 : undefined, record === "5:" ? 5n : undefined, undefined]);
  }
});

Deno.test("encodeKind() says what is asked for, of the usual nothing", () => {
  const of = (kind: "exclusive" | "shared" | number, owner?: string) => encodeKind(claimOf("a", kind, LONG, owner));
  assertEquals([of("exclusive"), of("exclusive", "me")], ["", ":exclusive"]);
  assertEquals([of("shared"), of("shared", "me"), of(2), of(2, "me")], [
    ":shared",
    ":shared",
    ":permits=2",
    ":permits=2",
  ]);
  assertEquals(encodeKind(claim, true), ":steal");
  assertEquals([encodeKind(claimOf("a", "shared"), true), encodeKind(claimOf("a", 2), true)], [
    ":shared",
    ":permits=2",
  ]);
  const words = ["", ":exclusive", ":shared", ":permits=2", ":permits=2x"];
  assertEquals(words.map(decodeKind), ["exclusive", "exclusive", "shared", 2, "exclusive"]);
});

Deno.test("renew.encode() of the usual kind takes only the key of the lock", () => {
  const keys = lockKeys("lock:a");
  assertEquals(renew.encode(keys, claim).keys, keys.slice(0, 1));
  assertEquals(renew.encode(keys, claimOf("a", "shared")).keys, keys.slice(0, 5));
  assertEquals(renew.encode(keys, { ...claim, lease: 0.5, renewal: 3 }).args.slice(1), ["1", "3"]);
});

Deno.test("decode() takes a reply that is none of the script's for no answer", () => {
  const decoders: Record<string, (reply: unknown) => unknown> = {
    attempt: (reply) => attempt.decode(reply, { claim }),
    steal: (reply) => attempt.decode(reply, { claim, steal: [] }),
    vote: (reply) => vote.decode(reply, { claim, guess: 1n, maxClockSkew: 1 }),
    confirm: (reply) => confirm.decode(reply, { claim, fence: 1n }),
    inspect: (reply) => inspect.decode(reply, claim),
    retake: (reply) => retake.decode(reply, { claim, fence: 1n, counter: 1n }),
    renew: (reply) => renew.decode(reply, claim),
    release: (reply) => release.decode(reply, claim),
    held: (reply) => held.decode(reply, claim),
    evict: (reply) => evict.decode(reply, { digests: [], meta: undefined }),
    entries: (reply) => entries.decode(reply, { name: "a" }),
  };
  for (const [name, decode] of Object.entries(decoders)) {
    for (const reply of ["QUEUED", "OK", "", null, undefined, true, 1.5, {}, [null, "1"], ["OK"], [[1], "1"]]) {
      const error = assertThrows(() => decode(reply), Error, "is no reply of a script of locks");
      // It may have been executed.
      assert(!(error instanceof StoreError), name);
    }
    assertThrows(
      () => decode("QUEUED"),
      Error,
      '"QUEUED" is no reply of a script of locks: the client is inside MULTI',
    );
  }
});
