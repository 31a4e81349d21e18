import type { Redis } from "ioredis";

/** What a server has executed since {@linkcode resetCommands}. */
export interface Commands {
  /** Scripts that clients called. */
  readonly scripts: number;
  /** What clients called to lock, to wait and to see whether their connection lives: scripts among them. */
  readonly sent: number;
  /** Everything, also what scripts called. */
  readonly all: number;
}

const SCRIPTS = ["evalsha", "eval"];

/** What clients of ours call beside scripts, and scripts do not. */
const BESIDE = ["ping", "subscribe", "unsubscribe"];

/** Commands that the counting itself takes. */
const OWN = ["config|resetstat", "info"];

/** Starts to count from zero. */
export async function resetCommands(client: Redis): Promise<void> {
  await client.config("RESETSTAT");
}

/** Returns how much a server has executed. */
export async function countCommands(client: Redis): Promise<Commands> {
  const commands = { scripts: 0, sent: 0, all: 0 };
  for (const [, name = "", calls] of (await client.info("commandstats")).matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)) {
    if (SCRIPTS.includes(name)) commands.scripts += Number(calls);
    if (SCRIPTS.includes(name) || BESIDE.includes(name)) commands.sent += Number(calls);
    if (!OWN.includes(name)) commands.all += Number(calls);
  }
  return commands;
}

/** Returns how long the processor has worked for a server since its start, in milliseconds. */
export async function cpuTime(client: Redis): Promise<number> {
  const times = (await client.info("cpu")).matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm);
  return [...times].reduce((sum, [, seconds]) => sum + Number(seconds) * 1_000, 0);
}
