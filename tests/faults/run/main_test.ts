// Deno only: it tests a tool for Deno.
import { assert, assertEquals } from "@std/assert";
import { withoutCoverage } from "../../support/without_coverage.ts";
import { lines } from "../../support/lines.ts";
import { until } from "../../support/until.ts";

/** The command, with a directory of its own for temporary files. */
class Command implements AsyncDisposable {
  readonly directory = Deno.makeTempDirSync({ prefix: "holdfast_faults_" });
  readonly #process: Deno.ChildProcess;
  readonly #output: Promise<string>;
  readonly errors: AsyncGenerator<string>;

  constructor(...args: string[]) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", import.meta.resolve("./main.ts"), ...args],
      clearEnv: true,
      env: { ...withoutCoverage(), TMPDIR: this.directory },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
    this.errors = lines(this.#process.stderr);
    this.#output = new Response(this.#process.stdout).text();
  }

  /** Interrupts it as a terminal does: together with all processes that it has started. */
  interrupt(): void {
    Deno.kill(-this.#process.pid, "SIGINT");
  }

  /** Resolves when it has ended, to its status and all that it has written. */
  async end(): Promise<{ code: number; output: string; errors: string }> {
    const errors: string[] = [];
    for await (const line of this.errors) errors.push(line);
    const [output, { code }] = await Promise.all([this.#output, this.#process.status]);
    return { code, output, errors: errors.join("\n") };
  }

  /** Returns the processes that were started for it: by their environment, or by where they keep their files. */
  processes(): number[] {
    return Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name)).filter((id) => {
      if (!Number.isInteger(id) || id === this.#process.pid) return false;
      try {
        return Deno.readTextFileSync(`/proc/${id}/environ`).includes(this.directory) ||
          Deno.readLinkSync(`/proc/${id}/cwd`).startsWith(this.directory);
      } catch {
        return false; // It has just ended.
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#process.status;
    for (const id of this.processes()) Deno.kill(id, "SIGKILL");
    await this.errors.return(undefined);
    await this.#output;
    await Deno.remove(this.directory, { recursive: true });
  }
}

Deno.test("main.ts says what is wrong with its command line, and what there is", async () => {
  await using wrong = new Command("--deployment", "quorum");
  await using unknown = new Command("--only", "rain", "--seed", "5");
  await using help = new Command("--help");
  const [first, second, third] = await Promise.all([wrong.end(), unknown.end(), help.end()]);
  assertEquals([first.code, second.code, third.code], [2, 1, 0]);
  assert(first.errors.includes('got "quorum"'), first.errors);
  assert(second.errors.includes('got "rain", there are ') && second.errors.includes("FLUSHALL"), second.errors);
  assert(third.output.includes("--deployment D"), third.output);
  assertEquals([...Deno.readDirSync(unknown.directory)], [], "nothing is left");
});

Deno.test("main.ts fails when no fault has happened", async () => {
  await using command = new Command("--minutes", "0.001", "--seed", "5");
  const { code, output, errors } = await command.end();
  assertEquals(code, 1, output + errors);
  assert(output.includes("Seed 5 fails:\n  no fault has happened"), output + errors);
});

Deno.test({
  name: "main.ts stops all processes and removes all files when it is interrupted",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using command = new Command("--minutes", "5", "--seed", "5");
    const { value } = await command.errors.next();
    assert(/operations/.test(String(value)), `${value}`);
    assert(command.processes().length >= 5, "servers and workers are running");
    command.interrupt();
    const { code, errors } = await command.end();
    assertEquals(code, 130, errors);
    assert(errors.includes("interrupted") && errors.includes("The seed was 5"), errors);
    await until(() => command.processes().length === 0, "all processes have ended");
    assertEquals([...Deno.readDirSync(command.directory)].map(({ name }) => name), []);
  },
});
