import { assertEquals } from "@std/assert";
import { reason } from "../../src/internal/reason.ts";

Deno.test("reason() is the message of an error, and the text of anything else", () => {
  const coded = Object.assign(new Error("down"), { code: "ECONNREFUSED" });
  assertEquals([coded, "text", undefined, 7].map(reason), ["down", "text", "undefined", "7"]);
  assertEquals(reason(new AggregateError([new Error("a")], "all failed")), "all failed");
});

Deno.test("reason() of an error without a message is its errors, its code or its name", () => {
  assertEquals(reason(new AggregateError([new Error("a"), new Error("b")])), "a; b");
  assertEquals(reason(new AggregateError([new Error("a")])), "a");
  assertEquals(reason(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" })), "ECONNREFUSED");
  assertEquals(reason(Object.assign(new Error(), { code: "ECONNREFUSED" })), "ECONNREFUSED");
  assertEquals(reason(Object.assign(new Error(), { code: 7 })), "Error");
  assertEquals(reason(Object.assign(new Error(), { errors: [new Error("a")] })), "Error");
  assertEquals(reason(new TypeError()), "TypeError");
});

Deno.test("reason() of a lookup that Deno denies names the flag and the host", () => {
  const denied = Object.assign(new Error("getaddrinfo EPERM localhost"), { code: "EPERM", syscall: "getaddrinfo" });
  assertEquals(reason(denied), 'Requires net access to "localhost", run again with --allow-net=localhost');
  assertEquals(reason(new Error("getaddrinfo ENOTFOUND nowhere")), "getaddrinfo ENOTFOUND nowhere");
});
