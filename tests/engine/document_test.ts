// Deno only: it reads a page.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { formatDocument, LockDocument, parseDocument } from "../../src/engine/document.ts";

/** A document that has all fields. */
function full(): LockDocument {
  const document = new LockDocument();
  const claim = {
    name: "a",
    owner: "o",
    handle: "h",
    mode: "exclusive",
    lease: 1_000,
    meta: "{}",
    group: "g",
  } as const;
  const waiter = { claim, ticket: 1, queuedAt: 1, store: "s" };
  document.enqueue(waiter);
  document.fence = 1n;
  document.grant({ ...claim, renewal: 1 }, 1n, 1, [waiter]);
  document.turn = { handle: "h", number: 1, since: 1 };
  document.revoked = { handles: ["h"], by: "{}" };
  return document;
}

Deno.test("parseDocument() refuses for good what is no document of this version", () => {
  const other = JSON.stringify({ ...JSON.parse(formatDocument("a", full())), holdfast: 2 });
  for (const text of ["", "{", "null", "[]", "a text of another program", "{}", other]) {
    const error = assertThrows(() => parseDocument("a", text), StoreError);
    assert(error.permanent && error.message.includes('lock "a"'), error.message);
  }
});

/** What no document of ours has: the place in it, and what is there. */
const FOREIGN: readonly (readonly [path: string, value: unknown])[] = [
  ...[undefined, null, "5", -1, 2 ** 53, 1e300].map((value) => ["counter", value] as const),
  ...[undefined, "", "x", "-1", 7].map((value) => ["fence", value] as const),
  ...[undefined, null, "now"].map((value) => ["used", value] as const),
  ...[undefined, null, {}, "none"].flatMap((value) => [["holders", value], ["queue", value]] as const),
  ...[null, {}, { handle: "h", since: 1 }, { handle: "h", number: 2, since: 1 }].map((value) =>
    ["turn", value] as const
  ),
  ...[null, {}, { handles: [1] }, { handles: [], by: 1 }].map((value) => ["revoked", value] as const),
  ...["w", [1]].map((value) => ["writes", value] as const),
  ...["holders.0", "queue.0", "holders.0.run.0"].flatMap((each) =>
    [
      ["handle", undefined],
      ["owner", 1],
      ["kind", "all"],
      ["kind", 0],
      ["kind", 1.5],
      ["meta", {}],
      ["since", "then"],
    ].map(([field, value]) => [`${each}.${field}`, value] as const)
  ),
  ...[undefined, 2].flatMap((value) => [["queue.0.ticket", value], ["holders.0.beat", value]] as const),
  ["queue.0.store", undefined],
  ["queue.0.group", 1],
  ["holders.0.fence", "2"],
  ["holders.0.lease", undefined],
  ["holders.0.end", null],
  ["holders.0.renewal", "1"],
  ["holders.0.run", {}],
];

Deno.test("parseDocument() says what of a text no document of ours has", () => {
  for (const [path, value] of FOREIGN) {
    const fields = JSON.parse(formatDocument("a", full()));
    const names = path.split(".");
    const field = names.pop()!;
    names.reduce((within, name) => within[name], fields)[field] = value;
    const error = assertThrows(() => parseDocument("a", JSON.stringify(fields)), StoreError, 'lock "a"');
    assert(error.permanent, error.message);
    if (["counter", "fence", "beat", "ticket"].includes(field)) {
      assert(error.message.includes(`, its ${field} is `), `${path}: ${error.message}`);
    }
  }
});

Deno.test("parseDocument() reads what formatDocument() writes", () => {
  const text = formatDocument("a", full());
  assertEquals(formatDocument("a", parseDocument("a", text)), text);
});

Deno.test("parseDocument() leaves out the roll call that older versions wrote", () => {
  const text = formatDocument("a", full());
  const fields = JSON.parse(text);
  Object.assign(fields, { rollCall: { number: 1, since: 1 } });
  for (const waiter of [...fields.queue, ...fields.holders[0].run]) Object.assign(waiter, { roll: 1 });
  assertEquals(formatDocument("a", parseDocument("a", JSON.stringify(fields))), text);
});

Deno.test("docs/stores/cas.md names all fields of a document", () => {
  const page = Deno.readTextFileSync(new URL("../../docs/stores/cas.md", import.meta.url));
  const named = new Set(Array.from(page.matchAll(/`(\w+)`/g), ([, field]) => field));
  const fields = new Set<string>();
  JSON.parse(formatDocument("a", full()), (key, value) => {
    if (/^[a-z]/i.test(key)) fields.add(key);
    return value;
  });
  assert(fields.size > 20, `${fields.size} fields`);
  assertEquals([...fields].filter((field) => !named.has(field)), []);
});
