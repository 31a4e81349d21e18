// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import { acquire } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { inTime } from "../../../tests/support/in_time.ts";
import { withoutCoverage } from "../../../tests/support/without_coverage.ts";

const PROGRAM = new URL("../mod.ts", import.meta.url).pathname;

/** Runs a command, whose standard output and error go where a shell says, to its end. */
async function redirected(words: readonly string[], where: string): Promise<[status: number, errors: string]> {
  const process = new Deno.Command("sh", {
    args: ["-c", `exec "$@" ${where}`, "sh", Deno.execPath(), "run", "--quiet", "--allow-all", PROGRAM, ...words],
    clearEnv: true,
    env: withoutCoverage(),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = Promise.all([new Response(process.stdout).text(), new Response(process.stderr).text()]);
  try {
    const { code } = await inTime(process.status, 60_000, `the end of ${words.join(" ")}`);
    return [code, (await output)[1]];
  } catch (error) {
    process.kill("SIGKILL");
    throw error;
  } finally {
    await process.status;
    await output;
  }
}

Deno.test({
  name: "holdfast ends with 1 and says why when its output cannot be written",
  // Writes to it fail as on a disk that is full. Elsewhere there is none.
  ignore: Deno.build.os !== "linux",
  fn: async (test) => {
    const directory = await Deno.makeTempDir({ prefix: "holdfast_cli_" });
    const lock = await acquire(sqlite(`${directory}/locks.db`), "a", { lease: 600_000 });
    const store = ["--store", `sqlite:${directory}/locks.db`];
    const full = "holdfast: cannot write: No space left on device (os error 28)\n";
    const verbs = [
      ["--help"],
      ["ls", "--help"],
      ["--version"],
      ["completion", "bash"],
      ["ls", ...store],
      ["ls", "--json", ...store],
      ["show", "a", ...store],
      ["watch", "--interval", "50", ...store],
      ["wait", "a", "--timeout", "0", "--json", ...store],
      ["doctor", ...store],
      ["dashboard", "--port", "0", ...store],
      ["evict", "b", "--yes", ...store],
    ];
    for (const words of verbs) {
      const name = words.slice(0, 2).join(" ");
      await test.step(name, async () => assertEquals(await redirected(words, "> /dev/full"), [1, full], name));
    }
    // There is nobody to tell.
    for (const words of [["ls", "b", ...store], ["list"], ["run", "a", "--wait", "0", ...store, "--", "true"]]) {
      await test.step(`${words[0]}, its errors`, async () => {
        assertEquals(await redirected(words, "2> /dev/full"), [1, ""]);
      });
    }
    await lock.release();
    await Deno.remove(directory, { recursive: true });
  },
});
