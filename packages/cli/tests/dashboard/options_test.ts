import { assertEquals, assertThrows } from "@std/assert";
import { dashboard } from "@holdfast/cli/dashboard";
import { memory } from "@holdfast/lock/memory";
import { checkDashboardOptions } from "../../src/dashboard/options.ts";

Deno.test("dashboard() refuses options that it does not know or cannot use", () => {
  const make = (options: unknown) => () => dashboard(memory(), options as never);
  assertThrows(make({ evicts: true }), TypeError, '"evicts"');
  assertThrows(make({ title: 1 }), TypeError, "title");
  assertThrows(make({ evict: "yes" }), TypeError, "evict");
  assertThrows(make({ refresh: "1" }), TypeError, "refresh");
  assertThrows(make({ refresh: 99 }), RangeError, "refresh");
  assertThrows(make({ basePath: 1 }), TypeError, "basePath");
  for (const basePath of ["locks", "/a b", "//x", "/a;b", '/"', "/a?b"]) {
    assertThrows(make({ basePath }), RangeError, "basePath");
  }
});

Deno.test("dashboard() refuses what is no store", () => {
  assertThrows(() => dashboard("redis://" as never), TypeError, "store must be");
});

Deno.test("checkDashboardOptions() allows no eviction unless asked to", async () => {
  const request = new Request("http://localhost/");
  assertEquals(await checkDashboardOptions({}).mayEvict(request), false);
  assertEquals(await checkDashboardOptions({ evict: true }).mayEvict(request), true);
});

Deno.test("checkDashboardOptions() takes a base path with and without a slash behind it", () => {
  assertEquals(["/", "", "/a/", "/a/b"].map((basePath) => checkDashboardOptions({ basePath }).base), [
    "",
    "",
    "/a",
    "/a/b",
  ]);
});
