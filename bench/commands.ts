import type { Redis } from "ioredis";

/** What a server has executed since {@linkcode resetCommands}. */
export interface Commands {
  /** Scripts that clients called. */
  readonly scripts: number;
  /** Everything, also what scripts called. */
  readonly all: number;
}

/** Commands that the counting itself takes. */
const OWN = ["config|resetstat", "info"];

/** Starts to count from zero. */
export async function resetCommands(client: Redis): Promise<void> {
  await client.config("RESETSTAT");
}

/** Returns how much a server has executed. */
export async function countCommands(client: Redis): Promise<Commands> {
  let scripts = 0;
  let all = 0;
  for (const [, name = "", calls] of (await client.info("commandstats")).matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)) {
    if (name === "evalsha" || name === "eval") scripts += Number(calls);
    if (!OWN.includes(name)) all += Number(calls);
  }
  return { scripts, all };
}

/** Returns how long the processor has worked for a server since its start, in milliseconds. */
export async function cpuTime(client: Redis): Promise<number> {
  const times = (await client.info("cpu")).matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm);
  return [...times].reduce((sum, [, seconds]) => sum + Number(seconds) * 1_000, 0);
}
