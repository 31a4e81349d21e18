// Deno only: it reads a page.
import { assert, assertEquals, assertThrows } from "@std/assert";
import { StoreError } from "@holdfast/lock";
import { formatDocument, LockDocument, parseDocument } from "../../../src/stores/cas/document.ts";

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
  const waiter = { claim, ticket: 1, queuedAt: 1, store: "s", roll: 1 };
  document.enqueue(waiter);
  document.grant({ ...claim, renewal: 1 }, 1n, 1, [waiter]);
  document.turn = { handle: "h", number: 1, since: 1 };
  document.rollCall = { number: 1, since: 1 };
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

Deno.test("parseDocument() reads what formatDocument() writes", () => {
  const text = formatDocument("a", full());
  assertEquals(formatDocument("a", parseDocument("a", text)), text);
});

Deno.test("docs/stores/cas.md names all fields of a document", () => {
  const page = Deno.readTextFileSync(new URL("../../../docs/stores/cas.md", import.meta.url));
  const named = new Set(Array.from(page.matchAll(/`(\w+)`/g), ([, field]) => field));
  const fields = new Set<string>();
  JSON.parse(formatDocument("a", full()), (key, value) => {
    if (/^[a-z]/i.test(key)) fields.add(key);
    return value;
  });
  assert(fields.size > 20, `${fields.size} fields`);
  assertEquals([...fields].filter((field) => !named.has(field)), []);
});
