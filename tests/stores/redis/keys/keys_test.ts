import { StoreError } from "@holdfast/lock";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { KeySpace, lockKeys, lockOf, slot, SlotTags } from "../../../../src/stores/redis/keys/keys.ts";
import { RedisServer } from "../../../support/redis_server.ts";

const PREFIX = "lock:";

/** Names that are hard on hash tags, beside plain ones. */
const names = [
  ...["a", "invoice:42", " ", "a b", "😀", "é€", "\u0000\r\n", "a".repeat(1_000)],
  ...["{", "}", "{}", "}{", "{{", "}}", "{}}", "{{}}", "}{a}", "a}b{c", "a{b", "a}b", "{a", "a}", "a{}b", "a{}b{c}"],
  ...["{a}", "a{b}", "{b}a", "a{b}c", "x{b}c", "a{b}{c}", "a{{b}}c", "a{b}}c", "{a}b{c", "{ }", "{😀}", "a{:}b"],
  ...["{lock:a}", "{0}", "{1}lock:a", "lock:a", ":queue", "a:queue", "a:fence", "a:waiters", "a:holders", "a{b}:queue"],
];

/** What clients put before every key, each with names to go with it. */
const keyPrefixes: [keyPrefix: string, names: string[]][] = [
  ["", [...names, ...Array.from({ length: 50 }, randomName)]],
  ["app:", names],
  ...["{app}:", "{app}", "a{", "a}", "}{", "a{b}c:", "😀:"].map((keyPrefix): [string, string[]] => {
    return [keyPrefix, ["a", "{", "}", "a}b{c", "{a}", "a{b}:queue", "a{b}"]];
  }),
];

/** Keys, and what of them is hashed: the examples of the Cluster specification. */
const tagged: [key: string, part: string][] = [
  ["{user1000}.following", "user1000"],
  ["{user1000}.followers", "user1000"],
  ["foo{bar}{zap}", "bar"],
  ["foo{{bar}}zap", "{bar"],
];

Deno.test("slot() gives the values of the Redis Cluster specification", () => {
  assertEquals(slot("123456789"), 0x31c3 % 16_384);
  assertEquals([slot(""), slot("foo"), slot("bar")], [0, 12_182, 5_061]);
  for (const [key, part] of tagged) assertEquals(slot(key), slot(part), key);
  const whole = ["foo{}{bar}", "foo{bar", "foo}bar{", "foo{}"];
  for (const key of whole) assert(slot(key) !== slot("bar") && slot(key) !== slot(""), key);
});

Deno.test("slot() agrees with a server about names of every kind", async () => {
  await using server = await RedisServer.start(["--cluster-enabled", "yes"]);
  const client = server.connect();
  const keys = [...names, ...tagged.map(([key]) => key), ...Array.from({ length: 500 }, randomName)];
  const slots = await Promise.all(keys.map((key) => client.cluster("KEYSLOT", key)));
  keys.forEach((key, i) => assertEquals(slot(key), slots[i], JSON.stringify(key)));
});

Deno.test("lockKeys() puts all keys of a lock into one slot, behind any key prefix", () => {
  for (const [keyPrefix, names] of keyPrefixes) {
    const tags = new SlotTags(keyPrefix);
    for (const name of names) {
      const [lock, ...others] = lockKeys(PREFIX + name, tags);
      assertEquals(lock, PREFIX + name, "the lock's own key is plain");
      for (const key of others) {
        assertEquals(slot(keyPrefix + key), slot(keyPrefix + lock), JSON.stringify([keyPrefix, name, key]));
      }
    }
  }
});

Deno.test("lockKeys() gives no key to two names, nor two keys of a name alike", () => {
  for (const [keyPrefix, names] of keyPrefixes) {
    const tags = new SlotTags(keyPrefix);
    const owners = new Map<string, string>();
    for (const name of new Set(names)) {
      for (const key of lockKeys(PREFIX + name, tags)) {
        assertEquals(owners.get(key), undefined, `${JSON.stringify(key)} is a key of ${JSON.stringify(name)} as well`);
        owners.set(key, name);
      }
    }
  }
});

Deno.test("lockKeys() of one name is no key of a name that looks like it", () => {
  const tags = new SlotTags("");
  for (const name of names) {
    for (const key of lockKeys(PREFIX + name, tags).slice(1)) {
      assert(!key.startsWith(PREFIX), `${JSON.stringify(key)} would be the lock of ${JSON.stringify(key.slice(5))}`);
    }
  }
});

Deno.test("lockOf() finds the lock of each key, and KeySpace takes none for a name", () => {
  for (const [keyPrefix, names] of keyPrefixes) {
    const tags = new SlotTags(keyPrefix);
    const keys = new KeySpace({ keyPrefix }, "");
    for (const name of names) {
      for (const prefix of ["", PREFIX, "{app}:"]) {
        const [lock, ...others] = lockKeys(prefix + name, tags);
        if (lockOf(keyPrefix + lock, tags) !== lock) continue; // It looks like a key of another lock.
        for (const key of others) {
          assertEquals(lockOf(keyPrefix + key, tags), lock);
          assertThrows(() => keys.keysOf(key), StoreError, "belongs to the lock");
        }
      }
    }
  }
});

Deno.test("lockKeys() gives the documented keys for a name without braces", () => {
  const further = ["queue", "waiters", "holders", "grants", "fence"].map((key) => `{lock:a}:${key}`);
  assertEquals(lockKeys("lock:a"), ["lock:a", ...further]);
});

/** A short name out of few characters, so that all kinds of tags come up. */
function randomName(): string {
  const characters = ["a", "b", "{", "}", "{", "}", ":", " ", "0", "é", "😀"];
  const length = 1 + Math.floor(Math.random() * 8);
  return Array.from({ length }, () => characters[Math.floor(Math.random() * characters.length)]).join("");
}
