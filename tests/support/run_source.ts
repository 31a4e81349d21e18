import { withoutCoverage } from "./without_coverage.ts";

/** How a program from text is run. */
interface RunSourceOptions {
  /** The flags of `deno run`. */
  readonly flags: readonly string[];
  readonly cwd?: string | URL;
  /** When it is killed, in milliseconds. It has no limit if this is left out. */
  readonly limit?: number;
}

/** What a program has written, and how it ended. */
export interface RunSourceResult {
  readonly success: boolean;
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a program that is given as text in a process of its own, and resolves when it has ended. */
export async function runSource(source: string, { flags, cwd, limit }: RunSourceOptions): Promise<RunSourceResult> {
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", ...flags, "-"],
    ...cwd === undefined ? {} : { cwd },
    clearEnv: true,
    env: { ...withoutCoverage(), NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = limit === undefined ? undefined : setTimeout(() => process.kill("SIGKILL"), limit);
  try {
    const input = new Blob([source]).stream().pipeTo(process.stdin).catch(() => {}); // It may end before it has read all.
    const { success, code, stdout, stderr } = await process.output();
    await input;
    const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [string, string];
    return { success, code, out, err };
  } finally {
    clearTimeout(timer);
  }
}
