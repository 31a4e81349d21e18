import type { Redis } from "ioredis";

/** Where the figures come from. */
export interface Machine {
  readonly date: string;
  readonly cores: number;
  /** Processes that wanted to run in the last minute: others disturb the measurement. */
  readonly load: number;
  readonly versions: Readonly<Record<string, string>>;
}

/** Describes this machine and what runs on it. */
export async function describe(client: Redis): Promise<Machine> {
  const root = new URL("../", import.meta.url);
  const read = async (file: string) => JSON.parse(await Deno.readTextFile(new URL(file, root)));
  const info = await client.info("server");
  const server = info.match(/^(valkey|redis)_version:(\S+)/m);
  return {
    date: new Date().toISOString(),
    cores: navigator.hardwareConcurrency,
    load: Deno.loadavg()[0]!,
    versions: {
      holdfast: (await read("deno.json")).version,
      deno: Deno.version.deno,
      ioredis: (await read("deno.lock")).specifiers["npm:ioredis@6"],
      [/^valkey_version/m.test(info) ? "valkey" : "redis"]: server?.[2] ?? "unknown",
    },
  };
}

/** Returns the description in one line. */
export function headline({ cores, load, versions }: Machine): string {
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [...programs, `${cores} cores`, `load ${load.toFixed(2)}`].join(", ");
}
