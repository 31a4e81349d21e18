// Deno only: it starts processes of Deno.
import { assert, assertEquals } from "@std/assert";
import { freePort } from "../../../tests/support/free_port.ts";
import { loadCommand } from "../src/commands.ts";
import { commandHelp } from "../src/arguments/help.ts";
import { CliProcess, holdfast as process } from "./cli_process.ts";
import { holdfast } from "./commands.ts";
import { VERSION } from "../src/version.ts";
import { textOf } from "../../../tests/support/test_files.ts";

const VERBS = ["run", "ls", "show", "watch", "wait", "evict", "doctor", "dashboard", "completion"];

Deno.test("holdfast alone prints its help, with every verb", async () => {
  const { status, out, err } = await holdfast([]);
  assertEquals([status, err], [0, ""]);
  for (const verb of VERBS) assert(new RegExp(`^  ${verb} +[A-Z]`, "m").test(out), verb);
  for (const args of [["--help"], ["-h"], ["help"]]) assertEquals((await holdfast(args)).out, out);
});

Deno.test("holdfast VERB --help has usage, options, examples and exit statuses", async () => {
  for (const verb of VERBS) {
    const { status, out } = await holdfast([verb, "--help"]);
    assertEquals(status, 0);
    for (
      const part of [`Usage: holdfast ${verb} `, "\nOptions of every verb:\n", "\nExamples:\n", "\nExit status:\n"]
    ) {
      assert(out.includes(part), `${verb}: ${part}`);
    }
    assert(!/ $/m.test(out), verb);
    assertEquals((await holdfast(["help", verb])).out, out);
  }
});

Deno.test("commandHelp() has the exit statuses that a verb can have, and no others", async () => {
  const expected: Record<string, number[]> = {
    run: [0, 1, 2, 69, 75, 76, 126, 127, 130],
    ls: [0, 1, 2, 69, 130],
    show: [0, 1, 2, 69, 130],
    watch: [1, 2, 69, 130],
    wait: [0, 1, 2, 69, 75, 130],
    evict: [0, 1, 2, 3, 69, 130],
    doctor: [0, 1, 2, 130],
    dashboard: [1, 2, 69, 130],
    completion: [0, 1, 2, 69, 130],
  };
  for (const verb of VERBS) {
    const [, statuses = ""] = commandHelp(await loadCommand(verb)).split("Exit status:\n");
    assertEquals(Array.from(statuses.matchAll(/^ {2}(\d+) /gm), ([, status]) => Number(status)), expected[verb], verb);
  }
});

Deno.test("VERSION is that of deno.json", () => {
  assertEquals(VERSION, JSON.parse(textOf("packages/cli/deno.json")).version);
});

Deno.test("holdfast --version prints the version", async () => {
  for (const args of [["--version"], ["-V"], ["ls", "--version"]]) {
    assertEquals(await holdfast(args), { status: 0, out: `holdfast ${VERSION}\n`, err: "" });
  }
});

Deno.test("holdfast ends with 2 and one line when the command line is wrong", async () => {
  const wrong: [string[], string][] = [
    [["list"], "unknown verb list: there are run, ls, show,"],
    [["ls", "--what"], "unknown option --what: known are"],
    [["--json"], "the verb is missing"],
    [["show"], "the name of the lock is missing: holdfast show NAME"],
    [["show", "a", "b"], "show takes one name"],
    [["show", ""], "name must not be empty"],
    [["show", "n".repeat(1_025)], "name must have at most 1024 bytes"],
    [["ls", "a", "b"], "ls takes one pattern"],
    [["wait", "a", "--timeout", "soon"], "--timeout must be in milliseconds or have a unit"],
    [["watch", "--interval", "1"], "--interval must be from 50 ms"],
    [["ls"], "no store: give --store URL"],
    [["ls", "--store", "localhost"], "--store must be a URL"],
    [["ls", "--store", "mongodb://h"], "no store has URLs that begin with mongodb:"],
    [["ls", "--store", "redis://a:1", "--store", "redis://a:1"], "a quorum must not have a server twice"],
    [["ls", "--config", "/nowhere.json"], "cannot read /nowhere.json"],
    [["doctor", "redis://a:1"], "doctor takes no name: give what it examines as --store URL"],
    [["dashboard", "a"], "dashboard takes no name"],
    [["completion", "tcsh"], "completion takes one of bash, zsh, fish: got tcsh"],
  ];
  for (const [args, message] of wrong) {
    const { status, out, err } = await holdfast(args, { cwd: "/" });
    assertEquals([status, out, err.trimEnd().split("\n").length], [2, "", 1], err);
    assert(err.startsWith(`holdfast: ${message}`), err);
  }
});

Deno.test("holdfast takes the store from HOLDFAST_STORE, and from holdfast.json", async () => {
  const directory = await Deno.makeTempDir({ prefix: "holdfast_cli_" });
  const named = async (env: Record<string, string>) => (await holdfast(["ls"], { cwd: directory, env })).err;
  assert((await named({ HOLDFAST_STORE: "sqlite:env.db" })).includes("no file env.db"));
  await Deno.writeTextFile(`${directory}/holdfast.json`, '{ "store": "sqlite:file.db" }');
  assert((await named({})).includes("no file file.db"));
  await Deno.remove(directory, { recursive: true });
});

Deno.test("holdfast names the flag of a permission that Deno denies, in one line", async () => {
  const port = freePort();
  const store = `redis://127.0.0.1:${port}`;
  const cases: [string[], string[], string][] = [
    [["ls", "--store", store], [], `run with --allow-net=127.0.0.1:${port}`],
    [["ls", "--store", store], [`--allow-net=127.0.0.1:${port}`], "run with --allow-env"],
    [["ls", "--store", "sqlite:/tmp/a.db"], ["--allow-read"], "run with --allow-write=/tmp/a.db"],
    [["ls", "--store", "sqlite:/tmp/a.db"], [], "run with --allow-read=/tmp/a.db --allow-write=/tmp/a.db"],
    [["ls"], ["--allow-env"], "give --store URL, or run with --allow-read=holdfast.json"],
    [["ls", "--config", "/tmp/a.json"], ["--allow-env"], "run with --allow-read=/tmp/a.json"],
  ];
  for (const [args, flags, message] of cases) {
    const { status, err } = await process(args, { flags });
    assertEquals([status, err.trimEnd().split("\n").length], [2, 1], err);
    assert(err.startsWith("holdfast: ") && err.includes(message), err);
  }
});

Deno.test("holdfast --help and --version need no permission", async () => {
  for (const args of [["--help"], ["ls", "--help"], ["--version"], ["completion", "bash"]]) {
    assertEquals((await process(args, { flags: [] })).err, "");
  }
});

Deno.test("holdfast ends at once on SIGTERM, with 143, while it connects", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using command = new CliProcess(["wait", "a"], { store: `redis://127.0.0.1:${listener.addr.port}` });
  using _connection = await listener.accept();
  command.signal("SIGTERM");
  // When its time is over, it says so and ends with 69.
  assertEquals(await command.end(), { status: 143, out: "", err: "" });
});
