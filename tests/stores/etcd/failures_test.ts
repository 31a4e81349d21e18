import { assert, assertEquals } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { EtcdFault, failureOf, faultOfAnswer, faultOfFetch } from "../../../src/stores/etcd/failures.ts";
import { checkEtcdOptions } from "../../../src/stores/etcd/options.ts";

const URL = "http://127.0.0.1:2379";

/** What etcd 3.4 answers, with the code of gRPC, and what that means. */
const ANSWERS: readonly (readonly [message: string, code: number, status: number, kind: EtcdFault["kind"]])[] = [
  ["etcdserver: no leader", 14, 503, "elsewhere"],
  ["etcdserver: too many requests", 8, 429, "elsewhere"],
  ["etcdserver: not capable", 14, 503, "elsewhere"],
  ["etcdserver: rpc not supported for learner", 14, 503, "elsewhere"],
  ["etcdserver: request timed out", 14, 503, "unknown"],
  ["etcdserver: request timed out, possibly due to previous leader failure", 14, 503, "unknown"],
  ["etcdserver: leader changed", 14, 503, "unknown"],
  ["etcdserver: server stopped", 14, 503, "unknown"],
  ["etcdserver: invalid auth token", 16, 401, "token"],
  ["etcdserver: revision of auth store is old", 3, 400, "token"],
  ["etcdserver: user name is empty", 3, 400, "token"],
  ["etcdserver: mvcc: database space exceeded", 8, 429, "refused"],
  ["etcdserver: permission denied", 7, 403, "refused"],
  ["etcdserver: authentication failed, invalid user ID or password", 3, 400, "refused"],
  ["etcdserver: request is too large", 3, 400, "refused"],
  ["Not Found", 5, 404, "refused"],
];

Deno.test("faultOfAnswer() takes the answer of a proxy for no proof that nothing was done", () => {
  for (const status of [408, 429, 500, 502, 503, 504]) {
    assertEquals(faultOfAnswer(URL, status, "<html>no luck</html>").kind, "unknown");
  }
  for (const status of [200, 400, 404]) assertEquals(faultOfAnswer(URL, status, "<html>").kind, "refused");
});

Deno.test("faultOfAnswer() takes an answer that was cut for no proof that nothing was done", () => {
  const answer = '{"header":{"revision":"7"},"succeeded":true}';
  for (let length = 0; length < answer.length; length++) {
    assertEquals(faultOfAnswer(URL, 200, answer.slice(0, length)).kind, "unknown", `${length} characters`);
  }
  for (const whole of ["{}", '{"name":"another server"}', "[1", "OK"]) {
    assertEquals(faultOfAnswer(URL, 200, whole).kind, "refused", whole);
  }
});

for (const [message, code, status, kind] of ANSWERS) {
  Deno.test(`faultOfAnswer() takes "${message.slice(0, 36)}" as ${kind}`, () => {
    const fault = faultOfAnswer(URL, status, JSON.stringify({ error: message, message, code }));
    assertEquals([fault.kind, fault.message], [kind, `${URL}: ${message}`]);
    // As some proxies and versions have it.
    assertEquals(faultOfAnswer(URL, status, JSON.stringify({ error: message, code })).kind, kind);
  });
}

/** What fetch throws in each runtime when nobody listens, and when a connection is lost. */
const node = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
const both = new AggregateError([Object.assign(new Error("connect ECONNREFUSED ::1:2379"), { code: "ECONNREFUSED" })]);

const ERRORS: readonly (readonly [what: string, error: unknown, kind: EtcdFault["kind"]])[] = [
  ["Deno, refused", new TypeError("error sending request for url: client error (Connect): tcp"), "elsewhere"],
  ["Deno, lost", new TypeError("error sending request for url: client error (SendRequest): closed"), "unknown"],
  ["Node, refused", node("ECONNREFUSED"), "elsewhere"],
  ["Node, refused on both addresses", new TypeError("fetch failed", { cause: both }), "elsewhere"],
  ["Node, no such host", node("ENOTFOUND"), "elsewhere"],
  ["Node, late", node("UND_ERR_CONNECT_TIMEOUT"), "elsewhere"],
  ["Node, lost", node("ECONNRESET"), "unknown"],
  ["Bun, refused", Object.assign(new Error("Unable to connect"), { code: "ConnectionRefused" }), "elsewhere"],
  ["Bun, lost", Object.assign(new Error("The socket was closed"), { code: "ECONNRESET" }), "unknown"],
  ["workerd", new Error("Network connection lost."), "unknown"],
  ["Deno, not allowed", Object.assign(new Error("Requires net access"), { name: "NotCapable" }), "refused"],
  ["no error", "a text", "unknown"],
];

for (const [what, error, kind] of ERRORS) {
  Deno.test(`faultOfFetch() takes what it says as ${kind}: ${what}`, () => {
    assertEquals(faultOfFetch(URL, error).kind, kind);
  });
}

Deno.test("faultOfFetch() says what Node has in the cause", () => {
  assertEquals(faultOfFetch(URL, node("ECONNRESET")).message, `${URL}: ECONNRESET`);
});

Deno.test("failureOf() makes a StoreError of what did nothing", () => {
  const settings = checkEtcdOptions({ endpoints: [URL] });
  const unknown = new EtcdFault("unknown", "lost");
  assertEquals(failureOf(unknown, settings), unknown);
  const other = new Error("anything else");
  assertEquals(failureOf(other, settings), other);
  for (const [kind, permanent] of [["elsewhere", false], ["token", true], ["refused", true]] as const) {
    const fault = new EtcdFault(kind, "a fault");
    const failure = failureOf(fault, settings);
    assert(failure instanceof StoreError);
    assertEquals([failure.permanent, failure.message, failure.cause], [permanent, "a fault", fault]);
  }
});
