import { type Store, StoreError, tryAcquire } from "@holdfast/lock";
import { durableObject, type LockNamespace, LockObject } from "@holdfast/lock/durable-object";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { SystemClock } from "../../../src/time/clock.ts";
import { DurableObjectStore } from "../../../src/stores/durable_object/store.ts";
import { claimOf } from "../../support/claims.ts";
import { MemoryStorage, ObjectHost } from "./host.ts";
import { refused } from "../../support/refused.ts";

const CLAIM = { name: "a", owner: "me", mode: "exclusive", lease: 1_000 };
const CALL = { store: "s", number: 1 };
const ATTEMPT = { holdfast: 1, do: "attempt", claim: CLAIM, call: CALL, options: { enqueue: false, steal: false } };

/** Requests that a lock object refuses, and what the error says. */
const REFUSED: Readonly<Record<string, [body: unknown, says: string]>> = {
  "what is no JSON": ["GET /", "answers only requests of durableObject(): got"],
  "null": [null, "answers only requests of durableObject(): got"],
  "another program's": [{ do: "attempt" }, "answers only requests of durableObject(): got"],
  "another version's": [{ ...ATTEMPT, holdfast: 2 }, "the format of the request is 2, that of the object 1"],
  "an unknown one": [{ ...ATTEMPT, do: "toString" }, "the request has no valid do"],
  "one without a claim": [{ ...ATTEMPT, claim: undefined }, "no valid claim"],
  "one without a number": [{ ...ATTEMPT, call: { store: "s" } }, "no valid call"],
  "one without options": [{ ...ATTEMPT, options: [] }, "no valid options"],
  "an owner that is no text": [{ ...ATTEMPT, claim: { ...CLAIM, owner: 1 } }, "no valid claim"],
  "an unknown mode": [{ ...ATTEMPT, claim: { ...CLAIM, mode: "free" } }, "no valid claim"],
  "a negative renewal": [{ ...ATTEMPT, claim: { ...CLAIM, renewal: -1 } }, "no valid claim"],
  "no successor": [{ ...ATTEMPT, do: "succeed", to: {} }, "no valid to"],
  "an eviction of a fence that is none": [{ holdfast: 1, do: "evict", name: "a", options: { fence: 1 } }, "options"],
};

for (const [what, [body, says]] of Object.entries(REFUSED)) {
  Deno.test(`LockObject.fetch() refuses ${what}, and does nothing`, async () => {
    const storage = new MemoryStorage();
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const request = new Request("https://lock/", { method: "POST", body: text });
    const response = await new LockObject({ storage }).fetch(request);
    const { error } = await response.json();
    assert(error.message.includes(says), error.message);
    assertEquals([response.status, error.isUndone, error.isPermanent], [409, true, true]);
    assertEquals([storage.values.size, storage.alarm], [0, null]);
  });
}

/** Returns a store whose requests are answered like that. */
function answered(answer: () => Response | Error): Store {
  const fetch = () => {
    const reply = answer();
    return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
  };
  return new DurableObjectStore({ idFromName: (name) => name, get: () => ({ fetch }) }, undefined, new SystemClock());
}

const attempt = (store: Store) => store.attempt(claimOf("a"), { enqueue: true });

/** Answers that are none of a lock object: what the error says, and whether it is known that nothing was done. */
const FOREIGN: Readonly<Record<string, [answer: () => Response | Error, says: string, undone: boolean]>> = {
  "another class": [
    () => new Response("hello"),
    'must be LockObject of this version: its object answers status 200, "hel',
    true,
  ],
  "a class that does not know it": [() => new Response("", { status: 404 }), "must be LockObject", true],
  "a later version": [() => Response.json({ holdfast: 2 }), "must be LockObject of this version", true],
  "a server that fails": [() => new Response("oops", { status: 503 }), 'did not answer: status 503, "oops"', false],
  "a server that is asked too much": [() => new Response("", { status: 429 }), "did not answer: status 429", false],
  "a server that was too slow": [() => new Response("", { status: 408 }), "did not answer: status 408", false],
  "a connection that was cut": [() => new Response('{"holdfast":1,"re'), "did not answer: status 200", false],
  "an error": [() => new TypeError("Network connection lost."), "did not answer: Network connection lost.", false],
  "an error that may be retried": [
    () => Object.assign(new Error("reset"), { retryable: true }),
    "the Durable Object did not answer: reset",
    false,
  ],
  "an object that is overloaded": [
    () => Object.assign(new Error("Too many requests queued"), { overloaded: true }),
    "the Durable Object is overloaded: Too many requests queued",
    true,
  ],
};

for (const [what, [answer, says, undone]] of Object.entries(FOREIGN)) {
  Deno.test(`DurableObjectStore rejects when ${what} answers`, async () => {
    const error = await attempt(answered(answer)).catch((error: unknown) => error);
    assert(error instanceof Error && error.message.includes(says), `${error}`);
    assertEquals(error instanceof StoreError, undone);
    // A TypeError is for a bad argument, and would end a wait at once.
    assert(!(error instanceof TypeError));
  });
}

/** A call of a store, and replies that are none to that: they are those to others, or would throw a TypeError. */
const CALLS: Readonly<Record<string, [call: (store: Store) => Promise<unknown>, replies: unknown[]]>> = {
  attempt: [attempt, [true, null, "QUEUED", { granted: 1 }, { granted: true }, { granted: true, fence: "x" }]],
  renew: [(store) => store.renew(claimOf("a")), [true, null, "QUEUED", "no"]],
  release: [(store) => store.release(claimOf("a")), ["lost", null, 1]],
  evict: [(store) => store.evict!("a"), [null, "1", -1]],
  succeed: [(store) => store.succeed!(claimOf("a"), claimOf("a")), [true, 1]],
};

for (const [what, [call, replies]] of Object.entries(CALLS)) {
  Deno.test(`${what}() takes what is no reply to it for no answer`, async () => {
    for (const reply of [...replies, undefined]) {
      const error = await call(answered(() => Response.json({ holdfast: 1, reply }))).catch((error: unknown) => error);
      // It may have been executed, and a TypeError would end a wait at once.
      assert(error instanceof Error && !(error instanceof StoreError) && !(error instanceof TypeError), `${error}`);
    }
  });
}

Deno.test("tryAcquire() on a class that is no LockObject says so at once", async () => {
  const other: LockNamespace = {
    idFromName: (name) => name,
    get: () => ({ fetch: () => Promise.resolve(new Response("Hello World!")) }),
  };
  await refused(() => tryAcquire(durableObject(other), "a"), "must be LockObject");
});

Deno.test("a document that is full refuses a waiter with a StoreError, as elsewhere", async () => {
  const host = new ObjectHost();
  const store = new DurableObjectStore(host, undefined, new SystemClock());
  const meta = JSON.stringify({ text: "x".repeat(1_000) });
  const claims = Array.from({ length: 200 }, () => ({ ...claimOf("a"), meta }));
  const results = await Promise.allSettled(claims.map((claim) => store.attempt(claim, { enqueue: true })));
  const reasons = results.flatMap((result) => result.status === "rejected" ? [result.reason] : []);
  assert(reasons.length > 0 && reasons.length < 150, `${reasons.length} were refused`);
  assert(reasons[0] instanceof StoreError && !reasons[0].permanent, `${reasons[0]}`);
  assert(/waiters are in its document, which may have 120000 bytes/.test(reasons[0].message), reasons[0].message);
});

Deno.test("what is no document of this version is refused, and left as it is", async () => {
  const host = new ObjectHost();
  host.object("a").storage.values.set("lock:a", { document: new TextEncoder().encode('{"holdfast":2}'), calls: [] });
  const store = new DurableObjectStore(host, undefined, new SystemClock());
  await refused(() => attempt(store), "no document of this version");
  assertEquals(host.object("a").storage.writes, 0);
});

Deno.test("a write that fails leaves the outcome open for the next call to find", async () => {
  const host = new ObjectHost();
  const store = new DurableObjectStore(host, undefined, new SystemClock());
  const { storage } = host.object("a");
  storage.onWrite = () => {
    storage.onWrite = () => Promise.resolve();
    return Promise.reject(new Error("the disk is gone"));
  };
  const claim = claimOf("a");
  const error = await attempt(answeredBy(store, claim)).catch((error: unknown) => error);
  assert(error instanceof Error && !(error instanceof StoreError), `${error}`);
  const again = await store.attempt(claim, { enqueue: false });
  assert(again.granted);
});

/** Returns a store that asks for one claim only. */
function answeredBy(store: Store, claim: ReturnType<typeof claimOf>): Store {
  return Object.assign(Object.create(store), { attempt: () => store.attempt(claim, { enqueue: false }) });
}

Deno.test("durableObject() throws on what is no binding, and on unknown options", () => {
  const error = assertThrows(() => durableObject(undefined as unknown as LockNamespace), TypeError);
  assertEquals(
    error.message,
    "namespace must be the binding of a class of Durable Objects: got undefined. Is it in durable_objects of the Worker's " +
      "configuration?",
  );
  assertThrows(() => durableObject({} as LockNamespace), TypeError, "got [object Object]");
  assertThrows(() => durableObject(new ObjectHost(), { lease: 1 } as object), TypeError, 'unknown option "lease"');
  assertThrows(() => durableObject(new ObjectHost(), { observer: 1 } as object), TypeError, "observer");
});

Deno.test("acquire(), extend() and release() are a request and a write each", async () => {
  const host = new ObjectHost();
  const lock = (await tryAcquire(durableObject(host), "a"))!;
  await lock.extend();
  await lock.release();
  assertEquals(host.requests.map((body) => JSON.parse(body).do), ["attempt", "renew", "release"]);
  assertEquals(host.object("a").storage.writes, 3);
});

Deno.test("durableObject() passes its observer on", async () => {
  const types: string[] = [];
  const store = durableObject(new ObjectHost(), { observer: ({ type }) => types.push(type) });
  await (await tryAcquire(store, "a"))!.release();
  assertEquals(types, ["acquired", "released"]);
});
