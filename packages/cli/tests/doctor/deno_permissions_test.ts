// Deno only: it looks at permissions, which other runtimes do not have.
import { assertEquals } from "@std/assert";
import { examinePermissions, HOSTNAME, permissionFor } from "../../src/doctor/deno_permissions.ts";
import { runSource } from "../../../../tests/support/run_source.ts";

const NET = permissionFor("net", "127.0.0.1:6379", "The server cannot be reached.");

Deno.test("examinePermissions() names the flag of each permission that is missing", async () => {
  const granted = { query: () => Promise.resolve({ state: "granted" }) };
  assertEquals((await examinePermissions([NET, HOSTNAME], granted)).map(({ level }) => level), ["ok", "ok"]);
  const asked = { query: () => Promise.resolve({ state: "prompt" }) };
  const findings = await examinePermissions([NET, HOSTNAME], asked);
  assertEquals(findings.map(({ level }) => level), ["error", "warning"]);
  assertEquals(findings[0]!.advice, "Start the program with --allow-net=127.0.0.1:6379.");
});

Deno.test("examinePermissions() looks at those of this process", async () => {
  const module = new URL("../../src/doctor/deno_permissions.ts", import.meta.url).href;
  const program = `import { examinePermissions } from ${JSON.stringify(module)};
    const findings = await examinePermissions(${JSON.stringify([NET, HOSTNAME])});
    console.log(findings.map(({ level }) => level).join());`;
  const run = async (...flags: string[]) => {
    const { out } = await runSource(program, { flags: ["--no-prompt", "--no-lock", "--no-config", ...flags] });
    return out.trim();
  };
  assertEquals(await run("--allow-net=127.0.0.1:6379", "--allow-sys=hostname"), "ok,ok");
  assertEquals(await run("--allow-net=127.0.0.1:6380"), "error,warning");
});
