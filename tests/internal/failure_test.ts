import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { QuorumError, StoreError } from "@holdfast/lock";
import { connectionWords, isPermanent, storeError } from "../../src/internal/failure.ts";
import { ScriptedStore } from "../support/scripted_store.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** A store, and why it cannot be reached. */
function unreached(connectionError?: Error): ScriptedStore {
  const store = new ScriptedStore(new VirtualClock());
  store.connectionError = connectionError;
  return store;
}

Deno.test("isPermanent() is true for a StoreError that says so, and for a bad argument", () => {
  const permanent = [new StoreError("NOPERM", { permanent: true }), new TypeError("bad"), new RangeError("bad")];
  assertEquals(permanent.map(isPermanent), [true, true, true]);
  const others = [new StoreError("LOADING"), new Error("down"), "down", undefined, { permanent: true }];
  assertEquals(others.map(isPermanent), [false, false, false, false, false]);
});

Deno.test("storeError() says that the store did not answer when there is no fault", () => {
  const error = storeError(unreached(), "Cannot");
  assertEquals([error.message, error.permanent, "cause" in error], ["Cannot: the store did not answer", false, false]);
});

Deno.test("storeError() has the fault as its cause, or the cause of a StoreError", () => {
  const down = new Error("down");
  assertEquals(storeError(unreached(), "Cannot", down).cause, down);
  assertEquals(storeError(unreached(), "Cannot", new StoreError("refused", { cause: down })).cause, down);
  const bare = new StoreError("refused");
  assertEquals(storeError(unreached(), "Cannot", bare).cause, bare);
});

Deno.test("storeError() is as permanent as its fault", () => {
  assertEquals(storeError(unreached(), "Cannot", new StoreError("NOPERM", { permanent: true })).permanent, true);
  assertEquals(storeError(unreached(), "Cannot", new StoreError("LOADING")).permanent, false);
});

Deno.test("storeError() says once why the store cannot be reached, also in its cause", () => {
  const refused = new Error("ECONNREFUSED");
  const silent = storeError(unreached(refused), "Cannot");
  assertEquals([silent.message, silent.cause], ["Cannot: the store did not answer (ECONNREFUSED)", refused]);
  const known = storeError(unreached(refused), "Cannot", new Error("connect ECONNREFUSED"));
  assertEquals([known.message, known.cause], ["Cannot: connect ECONNREFUSED", refused]);
});

Deno.test("storeError() of a QuorumError is one, with the nodes that failed", () => {
  const failures = [{ index: 1, address: "b:6379", error: new Error("down") }];
  const error = storeError(unreached(), "Cannot", new QuorumError("No majority on 1 of 3 nodes", failures));
  assertInstanceOf(error, QuorumError);
  assertEquals([error.message, error.failures], ["Cannot on 1 of 3 nodes: node 1 (b:6379): down", failures]);
  const uncounted = storeError(unreached(), "Cannot", new QuorumError("No majority", failures));
  assertEquals(uncounted.message, "Cannot: node 1 (b:6379): down");
  assert(!(storeError(unreached(), "Cannot", new StoreError("down")) instanceof QuorumError), "one only of that");
});

Deno.test("storeError() of a QuorumError is as permanent as that", () => {
  for (const permanent of [true, false]) {
    assertEquals(storeError(unreached(), "Cannot", new QuorumError("No", [], { permanent })).permanent, permanent);
  }
});

Deno.test("connectionWords() is empty when nothing is known, or all was said", () => {
  assertEquals(connectionWords(unreached()), "");
  assertEquals(connectionWords(unreached(new Error("refused"))), " (refused)");
  assertEquals(connectionWords(unreached(new Error("refused")), "it was refused"), "");
});

Deno.test("isPermanent() is true when the runtime permits no connection", () => {
  const denied = Object.assign(new Error("Requires net access"), { name: "NotCapable" });
  const lookup = new Error("getaddrinfo EPERM localhost");
  for (const error of [denied, lookup, new Error("no connection", { cause: lookup })]) assert(isPermanent(error));
  assert(!isPermanent(new Error("getaddrinfo ENOTFOUND nowhere")));
  assert(!isPermanent(new StoreError("down", { cause: denied })), "its store knows better");
});
