/**
 * Runs one library in a process of its own: it can be ended whatever the library does, and what one library leaves
 * running disturbs no other. Each line that comes in is an order as JSON; each goes out as an answer.
 *
 * @module
 */
import { peer } from "./catalogue.ts";
import { handoffs, idle } from "./orders/handoffs.ts";
import { holding } from "./orders/holding.ts";
import type { Handler, Order } from "./orders/order.ts";
import { pairs, timed } from "./orders/pairs.ts";
import { sections } from "./orders/sections.ts";
import { greedy, lock, patient, watch, within } from "./orders/watching.ts";
import type { Answer, Setup } from "./worker.ts";

const HANDLERS = { pairs, timed, sections, handoffs, idle, holding, greedy, lock, patient, watch, within };

const setup: Setup = JSON.parse(Deno.args[0] ?? "");
const { open } = await peer(setup.peer).load();
const session = await open(setup);
if (setup.tolerant) globalThis.addEventListener("unhandledrejection", (event) => event.preventDefault());
answer({ id: 0, value: "ready" });

for await (const line of lines(Deno.stdin.readable)) {
  const { id, order }: { id: number; order: Order } = JSON.parse(line);
  carryOut(order).then(
    (value) => answer({ id, value }),
    (error) => answer({ id, error: error instanceof Error ? error.message : String(error) }),
  );
}
Deno.exit();

async function carryOut(order: Order): Promise<unknown> {
  const handler = HANDLERS[order.do as keyof typeof HANDLERS] as unknown as Handler<Order, unknown>;
  return await handler(session, order);
}

/** On a line that no library prints by itself. */
function answer(answer: Answer): void {
  console.log(`=> ${JSON.stringify(answer)}`);
}

async function* lines(input: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of input.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
}
