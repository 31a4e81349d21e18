/**
 * Takes free locks over Bun's client, in turns with the bare pair over another one. Run by `clients.ts`, in Bun, with
 * its options as JSON; prints the outcome.
 *
 * @module
 */
import process from "node:process";
import { acquire, type RedisClient } from "../mod.ts";
import { BarePair } from "./bare.ts";
import { RawScripts } from "./raw_scripts.ts";
import { interleave, type Rounds } from "./rounds.ts";

/** What is to be measured. */
export interface BunOptions {
  readonly port: number;
  /** How many locks each side takes in a round. */
  readonly pairs: number;
  readonly seconds: number;
  /** Whether the two scripts are sent by themselves, with nothing of Holdfast's own around them. */
  readonly raw: boolean;
}

/** The client that only Bun has. */
interface Bun {
  readonly RedisClient: new (url: string) => RedisClient;
}

async function main({ port, pairs, seconds, raw }: BunOptions): Promise<Rounds> {
  const bun: Bun = Reflect.get(globalThis, "Bun");
  const connect = () => new bun.RedisClient(`redis://127.0.0.1:${port}`);
  const [client, scripts, bare] = [connect(), await RawScripts.on(connect()), await BarePair.on(connect())];
  const ours = async () => await (await acquire(client, "ours")).release();
  const repeat = async (run: () => Promise<void>) => {
    for (let pair = 0; pair < pairs; pair++) await run();
  };
  return await interleave({
    // The keys are equally long: "lock:" is the default prefix.
    ours: () => repeat(raw ? () => scripts.run("lock:ours") : ours),
    reference: () => repeat(() => bare.run("lock:bare")),
    seconds,
    progress: () => {},
  });
}

console.log(JSON.stringify(await main(JSON.parse(process.argv[2] ?? ""))));
// Its connections keep it alive.
process.exit();
