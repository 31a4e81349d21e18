import type { Random } from "../../../simulation/kernel/random.ts";
import { DenoProcess } from "../../../support/deno_process.ts";
import { type Fault, pause, serverFault } from "../fault.ts";

/** How long another program may have a transaction open, in milliseconds: longer than a store waits for the file. */
const HELD = [10, 6_500] as const;

/** Writes 2 MB, most of it before the transaction is committed. */
const WRITE = `
WITH RECURSIVE line(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM line WHERE number < 200)
INSERT INTO other SELECT randomblob(10000) FROM line
`.replaceAll("\n", " ");

/** Another program that uses the file of the locks. */
export class Intruder implements AsyncDisposable {
  readonly #path: string;
  #process: DenoProcess;

  private constructor(path: string) {
    this.#path = path;
    this.#process = this.#start();
  }

  /** Starts the program. */
  static async start(path: string): Promise<Intruder> {
    const intruder = new Intruder(path);
    await intruder.execute("CREATE TABLE IF NOT EXISTS other (text TEXT)");
    return intruder;
  }

  /** Executes a statement in it. */
  async execute(statement: string): Promise<void> {
    await this.#process.write(`${statement}\n`);
    const { value } = await this.#process.lines.next();
    if (value !== "done") throw new Error(`the other program says: ${value ?? "nothing, it has ended"}`);
  }

  /** Kills it, and starts it again. */
  async replace(): Promise<void> {
    await this.#end();
    this.#process = this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }

  async #end(): Promise<void> {
    await this.#process.kill();
    for await (const _ of this.#process.lines);
  }

  #start(): DenoProcess {
    return new DenoProcess(import.meta.resolve("./intruder.ts"), this.#path);
  }
}

/** Returns what another program does to the file of the locks. */
export function fileFaults(intruder: Intruder): Fault[] {
  const transaction = async (begin: readonly string[], random: Random, over: AbortSignal) => {
    for (const statement of begin) await intruder.execute(statement);
    await pause(random.spread(...HELD), over);
  };
  return [
    serverFault("writer blocked", false, async (random, over) => {
      await transaction(["BEGIN IMMEDIATE", WRITE], random, over);
      await intruder.execute("COMMIT");
      await intruder.execute("DELETE FROM other");
    }),
    serverFault("writer killed", false, async (random, over) => {
      await transaction(["BEGIN IMMEDIATE", WRITE], random, over);
      await intruder.replace();
    }),
    // Until it is over no checkpoint can be complete.
    serverFault("long read", false, async (random, over) => {
      await transaction(["BEGIN", "SELECT count(*) FROM other"], random, over);
      await intruder.execute("COMMIT");
    }),
    serverFault("checkpoint", false, () => intruder.execute("PRAGMA wal_checkpoint(TRUNCATE)")),
  ];
}
