// Deno only: it tests a tool for Deno.
import { assertEquals } from "@std/assert";
import { WorkerClocks } from "./worker_clocks.ts";

Deno.test("WorkerClocks sets no clock while a process starts, and the other way round", async () => {
  using clocks = await WorkerClocks.make({ shared: true });
  const steps: string[] = [];
  const [started, set] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const starting = clocks.keep(async () => {
    steps.push("starts");
    await started.promise;
    steps.push("started");
  });
  const setting = clocks.set(new Map([[0, 1_000]]), async () => {
    steps.push("set");
    started.resolve();
    await set.promise;
    steps.push("true again");
  });
  started.resolve();
  await starting;
  const next = setting.then(() => {});
  await new Promise((resolve) => setTimeout(resolve));
  const late = clocks.keep(() => {
    steps.push("starts later");
    return Promise.resolve();
  });
  set.resolve();
  await Promise.all([next, late]);
  assertEquals(steps, ["starts", "started", "set", "true again", "starts later"]);
});

Deno.test("WorkerClocks of one machine are one clock", async () => {
  using shared = await WorkerClocks.make({ shared: true });
  assertEquals(shared.env(0), shared.env(1));
});
