import { assert, assertEquals } from "@std/assert";
import { coordinators } from "../../../src/redlock/attempt/coordinators.ts";

Deno.test("coordinators() orders all nodes, for every process alike", () => {
  assertEquals(coordinators("a", 5), coordinators("a", 5));
  for (let n = 1; n <= 9; n++) {
    for (const name of ["a", "invoice:42", "\u{1f512}", ""]) {
      const order = coordinators(name, n);
      assertEquals(order.toSorted(), Array.from({ length: n }, (_, i) => i), `${name} on ${n} nodes`);
    }
  }
});

Deno.test("coordinators() begins at the place that FNV-1a gives", () => {
  // Known values of the hash, of 32 bits: processes of different versions must agree.
  const hashes = { "": 0x811c9dc5, a: 0xe40c292c, foobar: 0xbf9cf968 };
  for (const [name, hash] of Object.entries(hashes)) {
    for (let n = 1; n <= 9; n++) assertEquals(coordinators(name, n)[0], hash % n, `${name} on ${n} nodes`);
  }
});

Deno.test("coordinators() spreads names over the nodes", () => {
  const names = Array.from({ length: 5_000 }, (_, i) => `invoice:${i}`);
  const firsts = Map.groupBy(names, (name) => coordinators(name, 5)[0]);
  for (let node = 0; node < 5; node++) {
    const share = (firsts.get(node)?.length ?? 0) / names.length;
    assert(share > 0.15 && share < 0.25, `node ${node} coordinates ${share} of the names`);
  }
});
