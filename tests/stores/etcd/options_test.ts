import { assertEquals, assertThrows } from "@std/assert";
import { etcd, type EtcdOptions } from "@holdfast/lock/etcd";
import { checkEtcdOptions } from "../../../src/stores/etcd/options.ts";

const ENDPOINTS = ["http://127.0.0.1:2379"];

/** Options that are wrong in some way. */
function wrong(options: object): () => unknown {
  return () => etcd({ endpoints: ENDPOINTS, ...options } as EtcdOptions);
}

Deno.test("etcd() throws without an endpoint", () => {
  assertThrows(() => etcd(undefined as never), TypeError, "options must be an object");
  assertThrows(() => etcd({} as never), TypeError, "endpoints must be an array of URLs: got undefined");
  assertThrows(wrong({ endpoints: "http://a" }), TypeError, 'endpoints must be an array of URLs: got "http://a"');
  assertThrows(wrong({ endpoints: [] }), RangeError, "endpoints must not be empty: give one such as http://");
});

Deno.test("etcd() throws for an endpoint that is no URL of one", () => {
  for (const endpoint of ["127.0.0.1:2379", "localhost", "etcd://a:2379", "http://", "", 7, null]) {
    assertThrows(
      wrong({ endpoints: [endpoint] }),
      TypeError,
      "an endpoint must be a URL such as http://127.0.0.1:2379",
    );
  }
  for (const user of ["app:secret", "secret", ":secret"]) {
    const { message } = assertThrows(wrong({ endpoints: [`http://${user}@a`] }), TypeError, "options username and");
    assertEquals(message.includes("secret"), false);
  }
  for (const endpoint of ["http://a?b", "http://a#b"]) {
    assertThrows(wrong({ endpoints: [endpoint] }), TypeError, "without ? and #");
  }
});

Deno.test("etcd() throws for an unknown option, and for one of the wrong kind", () => {
  assertThrows(wrong({ hosts: [] }), TypeError, 'unknown option "hosts"');
  assertThrows(wrong({ fetch: "fetch" }), TypeError, 'fetch must be a function: got "fetch"');
  assertThrows(wrong({ prefix: 7 }), TypeError, "prefix must be a string");
  assertThrows(wrong({ prefix: "\ud800" }), TypeError, "prefix must be a string of well-formed Unicode");
  assertThrows(wrong({ prefix: "" }), RangeError, 'prefix must not be empty: got ""');
  assertThrows(wrong({ maxClockSkew: 5_000 }), TypeError, "maxClockSkew must be left out: timers of the server");
  assertThrows(wrong({ observer: 7 }), TypeError, "observer");
});

Deno.test("etcd() throws for half a login, and for two", () => {
  for (const half of [{ username: "a" }, { password: "a" }, { username: "", password: "a" }, { username: 7 }]) {
    assertThrows(wrong(half), TypeError, "username and password must be given together");
  }
  for (const token of ["", 7, {}]) assertThrows(wrong({ token }), TypeError, "token must be a text");
  assertThrows(wrong({ token: "t", username: "a", password: "b" }), TypeError, "token takes the place of a user");
});

Deno.test("checkEtcdOptions() gives defaults, and URLs without a last slash", () => {
  const { prefix, login, endpoints, engine } = checkEtcdOptions({ endpoints: ["HTTP://A:1/", "https://b/etcd/"] });
  assertEquals([prefix, login, endpoints, engine], [
    "holdfast/",
    { by: "nobody" },
    ["http://a:1", "https://b/etcd"],
    {},
  ]);
});
