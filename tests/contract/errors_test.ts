import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { isLockLost, LockError, LockLostError, LockTimeoutError, QuorumError, StoreError } from "@holdfast/lock";

const classes = [
  [LockTimeoutError, "LockTimeoutError", "timeout"],
  [LockLostError, "LockLostError", "lost"],
  [StoreError, "StoreError", "store"],
] as const;

Deno.test("every LockError has its name, its code and its cause", () => {
  for (const [Class, name, code] of classes) {
    const cause = new Error("READONLY");
    const error = new Class("Cannot", { cause });
    assertInstanceOf(error, LockError);
    assertInstanceOf(error, Error);
    assertEquals([error.name, error.code, error.message, error.cause], [name, code, "Cannot", cause]);
    assert(String(error).startsWith(`${name}: Cannot`) && error.stack?.includes(name), "the name is shown");
  }
});

Deno.test("QuorumError says how each node failed, also by an error without a message", () => {
  const refused = Object.assign(new Error(), { code: "ECONNREFUSED" });
  const failures = [refused, "down"].map((error, index) => ({ index, address: undefined, error }));
  assertEquals(new QuorumError("No majority", failures).message, "No majority: node 0: ECONNREFUSED; node 1: down");
});

Deno.test("isLockLost() recognises a LockLostError, and no other error", () => {
  assert(isLockLost(new LockLostError("lost")), "the error itself");
  const others = [new LockTimeoutError("late"), new StoreError("down"), new Error("lost"), new DOMException("lost")];
  for (const other of [...others, undefined, null, "lost", 0, {}, { code: "lost" }, () => {}]) {
    assertEquals(isLockLost(other), false);
  }
});

Deno.test("isLockLost() looks along causes and into both parts of a SuppressedError", () => {
  const lost = new LockLostError("lost");
  const body = new Error("body");
  const chain = new Error("a", { cause: new StoreError("b", { cause: new Error("c", { cause: lost }) }) });
  const wrapped = [
    chain,
    new SuppressedError(lost, body),
    new SuppressedError(body, lost),
    new SuppressedError(body, new SuppressedError(new Error("other"), chain)),
    new Error("of the caller", { cause: new SuppressedError(lost, body) }),
  ];
  for (const error of wrapped) assert(isLockLost(error), String(error));
  assertEquals(isLockLost(new SuppressedError(body, new Error("other", { cause: body }))), false);
  assertEquals(isLockLost({ name: "SuppressedError", error: lost, suppressed: lost }), false, "no error at all");
});

Deno.test("isLockLost() ends on errors that cause one another", () => {
  const [one, other] = [new Error("one"), new Error("other")];
  one.cause = other;
  other.cause = one;
  assertEquals(isLockLost(one), false);
  const suppressed = new SuppressedError(one, other);
  one.cause = suppressed;
  assertEquals(isLockLost(suppressed), false);
  other.cause = new LockLostError("lost");
  assertEquals(isLockLost(suppressed), true);
});

Deno.test("isLockLost() finds a LockLostError at the end of a long chain", () => {
  let error: Error = new LockLostError("lost");
  for (let i = 0; i < 20_000; i++) error = new Error("again", { cause: error });
  assert(isLockLost(error), "found");
});

Deno.test("isLockLost() finds what await using itself has wrapped", async () => {
  const body = new Error("body");
  const run = async () => {
    await using _lock = { [Symbol.asyncDispose]: () => Promise.reject(new LockLostError("lost")) };
    await Promise.resolve();
    throw body;
  };
  const error = await run().catch((error: unknown) => error);
  assert(isLockLost(error) && error !== body, String(error));
});
