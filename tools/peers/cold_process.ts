/**
 * Takes the first locks of a process, with one library, and prints how long that took in milliseconds: from the import
 * of the library to the last release, with the connection.
 *
 * @module
 */
import { peer } from "./catalogue.ts";
import { pair } from "./orders/pairs.ts";
import type { SessionOptions } from "./session.ts";

/** What is to be done. */
export interface Cold extends SessionOptions {
  readonly peer: string;
  readonly name: string;
  readonly pairs: number;
}

const { peer: id, name, pairs, ...options }: Cold = JSON.parse(Deno.args[0] ?? "");
const started = performance.now();
const { open } = await peer(id).load();
const run = pair(await open(options));
for (let i = 0; i < pairs; i++) await run(name);
console.log(`=> ${performance.now() - started}`);
Deno.exit();
