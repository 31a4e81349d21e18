import process from "node:process";
import { lines } from "../../../tests/support/lines.ts";
import { HANG_MS, until } from "../../../tests/support/until.ts";
import { withoutCoverage } from "../../../tests/support/without_coverage.ts";

/** The words behind the name of the runtime that start `holdfast run`. */
export const PROGRAM: readonly string[] = [
  ...["run", "--quiet", "--no-check", "--allow-all"],
  ...[new URL("../mod.ts", import.meta.url).pathname, "run"],
];

/** How a process ended: its exit status, and what it wrote. */
export interface Result {
  readonly status: number;
  readonly output: string[];
  readonly errors: string;
}

/** A process of `holdfast run`; killed with its command when it is disposed. */
export class RunProcess implements AsyncDisposable {
  /** The lines that it and its command write to the standard output. */
  readonly lines: AsyncGenerator<string>;
  readonly #process: Deno.ChildProcess;
  readonly #errors: Promise<string>;
  readonly #groups: number[] = [];

  /** Starts `holdfast run` with the URL of a store. */
  constructor(store: string, words: readonly string[], input?: string) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: [...PROGRAM, "--store", store, ...words],
      clearEnv: true,
      env: withoutCoverage(),
      stdin: input === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.lines = lines(this.#process.stdout);
    this.#errors = new Response(this.#process.stderr).text();
    if (input !== undefined) void new Response(input).body?.pipeTo(this.#process.stdin);
  }

  /** Its process id. */
  get id(): number {
    return this.#process.pid;
  }

  /** Resolves when it has ended by itself, to what it has written since its lines were read. */
  async result(): Promise<Result> {
    const output = await Array.fromAsync(this.lines);
    const { code } = await this.#process.status;
    return { status: code, output, errors: await this.#errors };
  }

  /** Returns the next line of its command. */
  async line(): Promise<string> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error(`it ended with ${(await this.#process.status).code}: ${await this.#errors}`);
    return value;
  }

  /** Returns the next line of its command, which must be the id of that; what it leaves behind is killed in the end. */
  async commandId(): Promise<number> {
    const id = Number(await this.line());
    this.#groups.push(id);
    return id;
  }

  /** Sends it a signal. */
  signal(name: Deno.Signal): void {
    this.#process.kill(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (
      const kill of [
        () => this.signal("SIGKILL"),
        ...this.#groups.map((id) => () => process.kill(-id, "SIGKILL")),
      ]
    ) {
      try {
        kill();
      } catch {
        // It has ended, as it should have.
      }
    }
    await this.#process.status;
    await this.#errors;
    await this.lines.return(undefined);
    await this.#process.stdout.cancel().catch(() => {}); // Read to its end, or locked by its reader.
  }
}

/** Runs `holdfast run` to its end. */
export async function runHoldfast(store: string, words: readonly string[], input?: string): Promise<Result> {
  await using started = new RunProcess(store, words, input);
  return await started.result();
}

/** A process of this machine. */
interface Process {
  readonly id: number;
  /** The id of its parent. */
  readonly parent: number;
  /** The id of its process group. */
  readonly group: number;
}

/** Returns the process with an id, unless it has ended. */
function processOf(id: number): Process | undefined {
  try {
    // Behind the name in brackets. It has ended if only its parent has not asked yet how.
    const [state, parent, group] = Deno.readTextFileSync(`/proc/${id}/stat`).split(") ").at(-1)!.split(" ");
    return state === "Z" || state === "X" ? undefined : { id, parent: Number(parent), group: Number(group) };
  } catch {
    return undefined; // It has just ended.
  }
}

/** Returns the processes that have not ended. */
export function processes(): Process[] {
  const ids = Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name)).filter(Number.isInteger);
  return ids.flatMap((id) => processOf(id) ?? []);
}

/** Returns the environment with which a process was started; empty if it has ended. */
export function environmentOf(id: number): string {
  try {
    return Deno.readTextFileSync(`/proc/${id}/environ`);
  } catch {
    return "";
  }
}

/** Returns the ids of the processes of a group that have not ended. */
export function living(group: number): number[] {
  return processes().filter((process) => process.group === group).map(({ id }) => id);
}

/** Resolves when no process of a group is left, to the moment at which that was seen. */
export async function gone(group: number): Promise<number> {
  const known = living(group);
  // It looks at all processes only when those have ended: there may be hundreds.
  const some = () => known.some((id) => processOf(id) !== undefined) || living(group).length > 0;
  await until(() => !some(), "the command is dead", HANG_MS);
  return performance.now();
}

/** Returns the words of a shell script as a command. */
export function shell(script: string): string[] {
  return ["--", "sh", "-c", script];
}

/** How long a command has to end when it is stopped, in milliseconds. */
const GRACE_MS = 5_000;

/** Returns whether a command was rightly killed: a busy machine may not notice within the grace that it has ended. */
export function wasKilled(errors: string, stoppedAt: number): boolean {
  return errors.includes("the command was killed, ") && performance.now() - stoppedAt >= GRACE_MS;
}

/** Returns the URL of a server. */
export function storeOf({ port }: { readonly port: number }): string {
  return `redis://127.0.0.1:${port}`;
}
