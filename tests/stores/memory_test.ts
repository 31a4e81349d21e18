import { assertThrows } from "@std/assert";
import { memory } from "@holdfast/lock/memory";
import { storeSuite } from "@holdfast/lock/testing";
import { SystemClock } from "../../src/_clock.ts";
import { MemoryStore } from "../../src/stores/_memory_store.ts";

storeSuite({
  test: (name, run) => Deno.test(`memory: ${name}`, run),
  capabilities: ["shared", "permits", "owner", "steal"],
  open: () => {
    const store = new MemoryStore(undefined, new SystemClock());
    return { connect: () => store, leftovers: () => store.names, close: () => {} };
  },
});

Deno.test("memory() refuses what it does not know", () => {
  assertThrows(() => memory({ prefix: "a" } as never), TypeError, '"prefix"');
  assertThrows(() => memory({ observer: "a" } as never), TypeError, "observer");
});
