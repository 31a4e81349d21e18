import { assert, assertEquals, assertRejects } from "@std/assert";
import { cpus } from "node:os";
import { busyPart, Load, LoadedError } from "./load.ts";
import { table } from "./report.ts";

Deno.test("Load.look() throws on a loaded machine, and notes it when that is forced", async () => {
  const idle = new Load(false, () => Promise.resolve(0.02));
  await idle.look();
  assert(!idle.loaded);
  const loaded = new Load(false, () => Promise.resolve(0.9));
  const error = await assertRejects(() => loaded.look(), LoadedError);
  assert(error.message.includes("90 %") && error.message.includes("--force"), error.message);
  const forced = new Load(true, () => Promise.resolve(0.9));
  await forced.look();
  assert(forced.loaded);
});

Deno.test("busyPart() sees processes that use all processors", async () => {
  const source = "for (;;);";
  const spinning = cpus().map(() => {
    return new Deno.Command(Deno.execPath(), { args: ["eval", source], stdin: "null", stdout: "null" }).spawn();
  });
  try {
    let busy = 0;
    while (busy < 0.5) busy = await busyPart(200);
    assert(busy <= 1, `${busy}`);
  } finally {
    for (const each of spinning) each.kill("SIGKILL");
    await Promise.all(spinning.map(({ status }) => status));
  }
});

Deno.test("table() judges nothing that was measured on a loaded machine", () => {
  const figure = {
    what: "uncontended",
    ours: { value: 900, unit: "/s" },
    ratio: 0.9,
    target: { bound: "at least", value: 0.8 },
  } as const;
  assert(/0\.90 .*yes$/m.test(table([figure])), table([figure]));
  const unjudged = table([figure], true);
  assert(!/yes|no$/m.test(unjudged), unjudged);
  assertEquals(/worthless$/m.test(unjudged), true, unjudged);
});
