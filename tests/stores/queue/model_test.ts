import { memory } from "@holdfast/lock/memory";
import { agrees } from "./agrees.ts";

Deno.test("MemoryStore grants what the model of the queue grants, in the same order", async () => {
  await agrees(() => memory(), 2_000);
});
