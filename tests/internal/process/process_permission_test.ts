// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import { withoutCoverage } from "../../support/without_coverage.ts";

const MODULE = new URL("../../../src/internal/process/meta.ts", import.meta.url).href;

/** Returns what a process with these permissions tells of itself, and whether it writes anything else. */
async function described(permissions: string[]): Promise<{ keys: string[]; stderr: string }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", ...permissions, "-"],
    clearEnv: true,
    env: withoutCoverage(),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const program = `import { describeProcess } from "${MODULE}"; console.log(JSON.stringify(describeProcess()));`;
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  const { stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { keys: Object.keys(JSON.parse(decoder.decode(stdout))), stderr: decoder.decode(stderr) };
}

Deno.test("describeProcess() without permission neither fails nor asks", async () => {
  assertEquals(await described([]), { keys: ["pid"], stderr: "" });
  assertEquals(await described(["--deny-sys"]), { keys: ["pid"], stderr: "" });
});

Deno.test("describeProcess() tells the host with permission to know it", async () => {
  assertEquals(await described(["--allow-sys=hostname"]), { keys: ["host", "pid"], stderr: "" });
});
