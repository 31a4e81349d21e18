import { assertEquals, assertRejects } from "@std/assert";
import { acquire, StoreError } from "@holdfast/lock";
import { redis } from "@holdfast/lock/redis";
import { explain, type Rights, rightsFor } from "../../../../src/stores/redis/refusals/server_error.ts";
import { FakeClient, replyError } from "../fake_client.ts";

const RIGHTS: Rights = { user: "app", keys: ["~lock:*", "~{lock:*"], commands: ["+get", "+set"] };

/** What Redis 6.2 puts before the words of an error in a script. */
const OLD = "ERR Error running script (call to f_54b3902d5ed22c0db5167eb200f5153728092289): @user_script:13: ";

/** Errors that may pass by themselves, in the words of Redis 6.2 to 8 and Valkey. */
const TEMPORARY = [
  "LOADING Redis is loading the dataset in memory",
  "READONLY You can't write against a read only replica.",
  "READONLY You can't write against a read only replica script: 54b3, on @user_script:1.",
  `${OLD}@user_script: 13: -READONLY You can't write against a read only replica.`,
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "CLUSTERDOWN Hash slot not served",
  "TRYAGAIN Multiple keys request during rehashing of slot",
  "ASK 3999 127.0.0.1:6381",
  "OOM command not allowed when used memory > 'maxmemory'.",
  "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
  "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
  "NOREPLICAS Not enough good replicas to write.",
  "NOSCRIPT No matching script. Please use EVAL.",
  "ERR max number of clients reached",
  "UNBLOCKED client unblocked via CLIENT UNBLOCK",
];

/** Errors that waiting cannot mend, and how they are explained. */
const PERMANENT: readonly (readonly [words: string, meaning: RegExp])[] = [
  ["NOPERM this user has no permissions to run the 'evalsha' command", /SETUSER app \+evalsha \+eval"/],
  [
    "NOPERM User app has no permissions to run the 'eval' command",
    /may not run eval; "ACL SETUSER app \+evalsha \+eval"/,
  ],
  ["NOPERM this user has no permissions to run the 'subscribe' command", /SETUSER app \+subscribe &holdfast:\*"/],
  ["NOPERM this user has no permissions to run the 'config|get' command", /SETUSER app \+config"/],
  [
    "NOPERM this user has no permissions to access one of the keys used as arguments",
    /SETUSER app ~lock:\* ~\{lock:\*"/,
  ],
  ["NOPERM No permissions to access a key", /may not use the keys/],
  ["NOPERM No permissions to access a channel", /SETUSER app &holdfast:\*"/],
  ["NOPERM this user has no permissions to access one of the channels used as arguments", /SETUSER app &holdfast:\*"/],
  ["ERR The user executing the script can't run this command or subcommand script: d3", /SETUSER app \+get \+set"/],
  ["ERR ACL failure in script: User u has no permissions to run the 'get' command script", /SETUSER app \+get \+set"/],
  ["ERR ACL failure in script: No permissions to access a key script: 3b0b", /may not use the keys/],
  ["ERR The user executing the script can't access at least one of the keys mentioned", /may not use the keys/],
  ["ERR The user executing the script can't publish to the channel mentioned in the command", /&holdfast:\*"/],
  [`${OLD}@user_script: 13: The user executing the script can't run this command or subcommand`, /\+get \+set"/],
  ["NOAUTH Authentication required.", /no password/],
  ["WRONGPASS invalid username-password pair or user is disabled.", /wrong user name or password/],
  ["DENIED Redis is running in protected mode", /other hosts/],
  ["WRONGTYPE Operation against a key holding the wrong kind of value", /something else/],
  [`${OLD}WRONGTYPE Operation against a key holding the wrong kind of value`, /something else/],
  ["ERR unknown command 'EVALSHA', with args beginning with: ", /does not run scripts/],
  ["ERR Unknown Redis command called from script script: 8746", /lacks a command/],
  ["ERR syntax error", /too old/],
  ["MOVED 3999 127.0.0.1:6381", /needs a Cluster client/],
  ["CROSSSLOT Keys in request don't hash to the same slot", /one slot/],
];

Deno.test("explain() is not permanent where the error may pass by itself", () => {
  for (const words of TEMPORARY) assertEquals(explain(RIGHTS, words, RIGHTS), { message: words, permanent: false });
});

Deno.test("explain() is permanent and says what to do, where waiting does not help", () => {
  const wrong = PERMANENT.filter(([words, meaning]) => {
    const { message, permanent } = explain(RIGHTS, words, RIGHTS);
    return !permanent || !message.endsWith(`: ${words}`) || !meaning.test(message.slice(0, -words.length));
  });
  assertEquals(wrong.map(([words]) => explain(RIGHTS, words, RIGHTS).message), []);
});

Deno.test("rightsFor() returns the keys as the server has them, and a script's commands", () => {
  const source = "redis.call('GET', KEYS[1]) redis.pcall('SET', KEYS[1]) redis.call('GET', KEYS[1])";
  const of = (keys: string[], prefix: string, keyPrefix: string) =>
    rightsFor("app", source, keys, prefix, keyPrefix).keys;
  assertEquals(rightsFor("app", source, [], "lock:", "").commands, ["+get", "+set"]);
  assertEquals(of(["lock:a", "{lock:a}:queue"], "lock:", ""), ["~lock:*", "~{lock:*"]);
  assertEquals(of(["lock:a"], "lock:", ""), ["~lock:*", "~{lock:*"], "a renewal takes one key");
  assertEquals(of(["lock:a", "{my:lock:a}:queue"], "lock:", "my:"), ["~my:lock:*", "~my:{my:lock:*"]);
  assertEquals(of(["lock:{a}b", "{a}lock:{a}b:queue"], "lock:", ""), ["~lock:*", "~{*}lock:*"]);
  assertEquals(of(["l*:a", "{l*:a}:queue"], "l*:", ""), ["~l\\*:*", "~{l\\*:*"]);
});

Deno.test("acquire() over a client of a Cluster asks again after MOVED, and only there", async () => {
  for (const isCluster of [true, false]) {
    const client = new FakeClient((_, index) => {
      if (index === 0) throw replyError("MOVED 3999 127.0.0.1:6381");
      return "1";
    });
    client.isCluster = isCluster;
    const acquired = acquire(redis(client.client), "a");
    if (isCluster) await (await acquired).release();
    else await assertRejects(() => acquired, StoreError, "needs a Cluster client");
  }
});

Deno.test("query() over a client of a Cluster does not call it one for another server", async () => {
  for (const isCluster of [true, false]) {
    const client = new FakeClient(() => {
      throw replyError("MOVED 3999 127.0.0.1:6381");
    });
    client.isCluster = isCluster;
    const error = await assertRejects(() => redis(client.client).query({ name: "a" }), StoreError, "MOVED 3999");
    assertEquals([error.permanent, /needs a Cluster client/.test(error.message)], [!isCluster, !isCluster]);
  }
});
