import { assert, assertEquals, assertThrows } from "@std/assert";
import { checkMeta, describeProcess, readMeta } from "../../../src/internal/process/meta.ts";
import fc from "fast-check";

const OWN = describeProcess();

function bytes(text: string | undefined): number {
  return new TextEncoder().encode(text ?? "").length;
}

/** Records of strings, with all that JSON and UTF-8 write in a way of their own. */
const records = fc.dictionary(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 12 }),
  { maxKeys: 6 },
);

Deno.test("checkMeta() adds the record to the machine and the process, which it may replace", () => {
  assertEquals(readMeta(checkMeta(undefined)), OWN);
  assertEquals(readMeta(checkMeta({})), OWN);
  assertEquals(readMeta(checkMeta({ job: "import" })), { ...OWN, job: "import" });
  assertEquals(readMeta(checkMeta({ pid: "7", host: "" })), { ...OWN, pid: "7", host: "" });
});

Deno.test("checkMeta() of false stores nothing", () => {
  assertEquals(checkMeta(false), undefined);
});

Deno.test("checkMeta() takes 1,024 bytes of UTF-8 as JSON, and not one more", () => {
  for (const unit of ["x", "é", "€", '"', "\n"]) {
    const empty = bytes(checkMeta({ long: "" }));
    const each = bytes(checkMeta({ long: unit })) - empty;
    const most = Math.floor((1_024 - empty) / each);
    const rest = "x".repeat(1_024 - empty - most * each);
    const text = unit.repeat(most) + rest;
    assertEquals(bytes(checkMeta({ long: text })), 1_024);
    assertThrows(() => checkMeta({ long: `${text}x` }), RangeError, "at most 1024 bytes as JSON");
  }
});

Deno.test("readMeta() reads what checkMeta() has written", () => {
  fc.assert(fc.property(records, (record) => {
    const own = { ...OWN, ...record };
    if (bytes(JSON.stringify(own)) <= 1_024) assertEquals(readMeta(checkMeta(record)), own);
  }));
  const record = JSON.parse('{"__proto__":"a","constructor":"b","":"c"}');
  assertEquals(Object.entries(readMeta(checkMeta(record))!).slice(-3), Object.entries(record));
});

Deno.test("readMeta() of what is no record of strings is undefined", () => {
  const texts = [undefined, "", "{", "null", "7", '"text"', "[]", '["a"]', '{"a":7}', '{"a":null}', '{"a":{}}', "{}x"];
  for (const text of texts) assertEquals(readMeta(text), undefined, text);
  fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), (text) => {
    const meta = readMeta(text);
    assert(meta === undefined || Object.values(meta).every((value) => typeof value === "string"), text);
  }));
});
