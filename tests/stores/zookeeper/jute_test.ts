import { assertEquals, assertThrows } from "@std/assert";
import { JuteReader, JuteWriter } from "../../../src/stores/zookeeper/jute.ts";

const ACL = [{ permission: 31, id: { scheme: "digest", id: "app:é" } }];

Deno.test("JuteReader reads what JuteWriter has written, however long it is", () => {
  for (const length of [0, 1, 200, 250, 255, 256, 10_000]) {
    const bytes = new Uint8Array(length).fill(7);
    const text = "€".repeat(length);
    const written = new JuteWriter().bytes(bytes).text(text).int(-7).long(-(2n ** 60n)).flag(true).acl(ACL)
      .list([1, 2], () => {}).finish();
    const reader = new JuteReader(written);
    assertEquals(reader.int(), written.length - 4);
    assertEquals(reader.bytes(), bytes);
    assertEquals(reader.text(), text);
    assertEquals([reader.int(), reader.long(), reader.flag()], [-7, -(2n ** 60n), true]);
    assertEquals(reader.acl(), ACL);
    assertEquals(reader.int(), 2);
    assertThrows(() => reader.flag(), RangeError, "an answer of ZooKeeper is too short");
  }
});

Deno.test("JuteReader takes the length -1 for no bytes, and believes none that is too large", () => {
  const reader = (...numbers: number[]) => {
    const writer = new JuteWriter();
    for (const number of numbers) writer.int(number);
    return new JuteReader(writer.finish().slice(4));
  };
  assertEquals(reader(-1).bytes(), new Uint8Array());
  assertEquals(reader(-1).list(() => 1), []);
  assertThrows(() => reader(5, 0).bytes(), RangeError);
  assertThrows(() => reader(2 ** 31 - 1, 0).bytes(), RangeError);
  assertThrows(() => reader(1, 2, 3).stat(), RangeError);
});
