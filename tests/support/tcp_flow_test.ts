// Deno only: it tests a tool of tests that are for Deno only.
import { Socket } from "node:net";
import { Flow } from "./tcp_flow.ts";

Deno.test("Flow.push() keeps nothing for later once nothing more goes this way", () => {
  const flow = new Flow(new Socket());
  flow.manner = 60_000;
  flow.end();
  flow.push(new Uint8Array(1));
  // A timer that is left fails the test.
});
