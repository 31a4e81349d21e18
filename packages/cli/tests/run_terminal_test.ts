// Deno only: it starts processes of Deno.
import { assertEquals } from "@std/assert";
import process from "node:process";
import { RedisServer } from "../../../tests/support/redis_server.ts";
import { lines } from "../../../tests/support/lines.ts";
import { withoutCoverage } from "../../../tests/support/without_coverage.ts";
import { PROGRAM, storeOf } from "./run_process.ts";

/** A command that says who started it, and how often it gets SIGINT; it ends on SIGUSR1. */
const COUNTS = 'trap "echo SIGINT" INT; trap "exit 4" USR1; echo "$PPID"; while :; do sleep 0.02; done';

for (const option of ["", "--foreground"]) {
  Deno.test(`holdfast run ${option} has its command get Ctrl-C of the terminal once`, async () => {
    await using server = await RedisServer.start();
    const words = [Deno.execPath(), ...PROGRAM, "--store", storeOf(server), "a", option, "--", "sh", "-c", COUNTS];
    // `exec`: a shell that stays, as dash does, would get Ctrl-C too, and end with a status of its own.
    const line = "exec " + words.filter((word) => word !== "").map((word) => `'${word}'`).join(" ");
    // It gives the program a terminal, and types what comes from its own input.
    const terminal = new Deno.Command("script", {
      args: ["--quiet", "--return", "--flush", "--command", line, "/dev/null"],
      clearEnv: true,
      env: withoutCoverage(),
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const keyboard = terminal.stdin.getWriter();
    const output = lines(terminal.stdout);
    // The terminal shows Ctrl-C as well, and ends lines with a carriage return.
    const next = async () => (await output.next()).value?.replace(/\r|\^C/g, "");
    try {
      const holdfast = Number(await next());
      await keyboard.write(new Uint8Array([3]));
      assertEquals(await next(), "SIGINT");
      process.kill(holdfast, "SIGUSR1");
      assertEquals(await next(), undefined, "it got no second one");
      assertEquals((await terminal.status).code, 4);
    } finally {
      await keyboard.close().catch(() => {});
      await Array.fromAsync(output);
      await terminal.status;
    }
  });
}
