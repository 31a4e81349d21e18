// Deno only: it starts processes of Deno and bash.
import { assert, assertEquals } from "@std/assert";
import { acquireAll } from "@holdfast/lock";
import { sqlite } from "@holdfast/lock/sqlite";
import { findProgram } from "../../../tests/support/debian_programs.ts";
import { holdfast } from "./cli_process.ts";

/** Returns what bash offers for the last of the words. */
async function offers(script: string, ...words: string[]): Promise<string[]> {
  const program = `eval "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { success, stdout, stderr } = await new Deno.Command("bash", {
    args: ["--norc", "-uc", program, script, ...words],
    stdin: "null",
  }).output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).split("\n").filter((word) => word !== "");
}

Deno.test("holdfast completion bash completes verbs, options and what follows them", async () => {
  const { status, out: script } = await holdfast(["completion", "bash"], { flags: [] });
  assertEquals(status, 0);
  assertEquals(await offers(script, "holdfast", "w"), ["watch", "wait"]);
  assertEquals(await offers(script, "holdfast", "wait", "a", "--t"), ["--timeout"]);
  assertEquals(await offers(script, "holdfast", "--j"), ["--json"]);
  assertEquals(await offers(script, "holdfast", "completion", ""), [
    ...["bash", "zsh", "fish", "--store", "--config", "--json", "--no-color", "--help", "--version"],
  ]);
  assertEquals(await offers(script, "holdfast", "wait", "show", "--t"), ["--timeout"], "a lock named like a verb");
  // bash takes a colon for the end of a word.
  assertEquals(await offers(script, "holdfast", "--store", "redis", ":", "//h", "evict", "--y"), ["--yes"]);
  assertEquals(await offers(script, "holdfast", "wait", "--timeout", ""), []);
  assertEquals(await offers(script, "holdfast", "ls", "--sort", ""), ["wait", "name"]);
  assertEquals(await offers(script, "holdfast", "ls", "--c"), ["--contended", "--config"]);
  assertEquals(await offers(script, "holdfast", "show", "--", "--"), [], "what follows is no option");
});

Deno.test("holdfast completion bash completes the names of locks", async () => {
  const folder = await Deno.makeTempDir({ prefix: "holdfast_names_" });
  const store = `sqlite:${folder}/locks.db`;
  {
    using locks = sqlite(`${folder}/locks.db`);
    const held = ["invoice:42", "invoice:43", "nightly", "in two words", "-n", "$(id)"];
    await using _ = await acquireAll(locks, held);
    const { out: script } = await holdfast(["completion", "bash"]);
    const program = `holdfast() { "$DENO" run --quiet --allow-all "$PROGRAM" "$@"; }
eval "$SCRIPT"; COMP_LINE=$0 COMP_POINT=\${#0} COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _holdfast
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const offered = async (line: string, ...words: string[]) => {
      const { success, stdout, stderr } = await new Deno.Command("bash", {
        args: ["--norc", "-uc", program, line, ...words],
        env: {
          ...{ SCRIPT: script, DENO: Deno.execPath(), HOLDFAST_STORE: store },
          PROGRAM: import.meta.resolve("../mod.ts"),
        },
        stdin: "null",
      }).output();
      assert(success, new TextDecoder().decode(stderr));
      return new TextDecoder().decode(stdout).split("\n").filter((word) => /^[^-]/.test(word));
    };
    assertEquals(await offered("holdfast show ", "holdfast", "show", ""), ["invoice:42", "invoice:43", "nightly"]);
    assertEquals(await offered("holdfast evict n", "holdfast", "evict", "n"), ["nightly"]);
    // bash takes a colon for the end of a word.
    assertEquals(await offered("holdfast wait invoice:4", "holdfast", "wait", "invoice", ":", "4"), ["42", "43"]);
    assertEquals(await offered("holdfast doctor ", "holdfast", "doctor", ""), []);
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("holdfast completion names each verb and option for every shell", async () => {
  const { out: bash } = await holdfast(["completion", "bash"]);
  for (const shell of ["zsh", "fish"]) {
    const { status, out } = await holdfast(["completion", shell]);
    assertEquals(status, 0);
    for (const [option] of bash.matchAll(/--[a-z-]+/g)) {
      assert(out.includes(shell === "fish" ? ` -l ${option.slice(2)} ` : `${option}[`), `${shell}: ${option}`);
    }
    for (const verb of ["ls", "show", "watch", "wait", "evict", "completion"]) assert(out.includes(verb), verb);
  }
});

/** Asks a shell to read the script, which is its standard input; zsh completes only on a terminal. */
const READERS = {
  zsh: { args: ["-n"], expected: "" },
  fish: { args: ["-c", "source; complete -C 'holdfast wait a --t'"], expected: "--timeout\t" },
};

for (const [shell, { args, expected }] of Object.entries(READERS)) {
  Deno.test({
    name: `holdfast completion ${shell} writes a script that the shell understands`,
    ignore: "missing" in findProgram(shell, shell.toUpperCase()),
    fn: async () => {
      const { out } = await holdfast(["completion", shell]);
      const process = new Deno.Command(shell, { args, stdin: "piped", stdout: "piped", stderr: "piped" }).spawn();
      const input = process.stdin.getWriter();
      await input.write(new TextEncoder().encode(out));
      await input.close();
      const { success, stdout, stderr } = await process.output();
      assert(success, new TextDecoder().decode(stderr));
      assert(new TextDecoder().decode(stdout).startsWith(expected), "it completes");
    },
  });
}
