// Deno only: it tests a tool for Deno.
import { shortRun } from "./short_run.ts";

Deno.test("Lock keeps its promises under random faults of processes that share a memcached", async () => {
  await shortRun("memcached");
});
