// Deno only: it starts the command line of a test in Deno.
import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../src/command.ts";
import { readRunRequest, RUN_OPTIONS, type RunRequest } from "../src/commands/run_options.ts";
import { invocation } from "./invocation.ts";

function read(...words: string[]): RunRequest {
  const store = () => Promise.reject(new Error("nothing is opened"));
  return readRunRequest(invocation(words, RUN_OPTIONS, { store, err: () => {} }));
}

Deno.test("readRunRequest() has a lease of 30 s, a grace of 5 s, and waits for ever", () => {
  const { name, command, lock, times, foreground, watchdog } = read("a", "--", "/usr/bin/make", "all");
  assertEquals([name, command], ["a", ["/usr/bin/make", "all"]]);
  assertEquals(times, { graceMs: 5_000, marginMs: 1_000 });
  assertEquals([foreground, watchdog], [false, false]);
  assertEquals(lock, {
    ...{
      lease: 30_000,
      wait: undefined,
      atLeast: undefined,
      mode: "exclusive",
      permits: undefined,
      owner: undefined,
      steal: false,
    },
    meta: { command: "make" },
  });
});

Deno.test("readRunRequest() reads the options by the names of the API", () => {
  const { lock, times } = read(
    ...[
      "a",
      "--lease",
      "1m",
      "--wait",
      "500",
      "--at-least",
      "5m",
      "--permits",
      "3",
      "--owner",
      "me",
      "--grace",
      "2.5s",
    ],
    ...["--meta", "job=import", "--meta", "url=a?b=c", "--", "x", "--lease"],
  );
  assertEquals([lock.lease, lock.wait, lock.atLeast, lock.permits, lock.owner], [60_000, 500, 300_000, 3, "me"]);
  assertEquals(lock.meta, { command: "x", job: "import", url: "a?b=c" });
  assertEquals(times.graceMs, 2_500);
  assertEquals(read("a", "--shared", "--", "x").lock.mode, "shared");
  assertEquals(read("a", "--steal", "--", "x").lock.steal, true);
});

Deno.test("readRunRequest() has grace and margin take a third of the lease at most", () => {
  for (const lease of [1_000, 3_000, 10_000, 15_000, 18_000, 60_000]) {
    const { graceMs, marginMs } = read("a", "--lease", `${lease}`, "--", "x").times;
    assertEquals(graceMs > 0 && marginMs >= lease / 60 && graceMs + marginMs <= lease / 3, true, `${lease}`);
  }
});

for (
  const [what, words] of Object.entries({
    "without a name": ["--", "x"],
    "without a command": ["a"],
    "with a command that does not stand behind dashes": ["a", "x"],
    "with a name that is empty": ["", "--", "x"],
    "with a lease below 1 s": ["a", "--lease", "999", "--", "x"],
    "with a wait that is no duration": ["a", "--wait", "soon", "--", "x"],
    "with a time to keep it that is no duration": ["a", "--at-least", "soon", "--", "x"],
    "with a time to keep it that is too long": ["a", "--at-least", "600h", "--", "x"],
    "with permits that are no number": ["a", "--permits", "", "--", "x"],
    "with permits and --shared": ["a", "--permits", "2", "--shared", "--", "x"],
    "with a grace for which the lease is too short": ["a", "--lease", "30s", "--grace", "9001", "--", "x"],
    "with meta that has no key": ["a", "--meta", "=b", "--", "x"],
    "with meta of more than 1,024 bytes": ["a", "--meta", `a=${"b".repeat(1_024)}`, "--", "x"],
    "with an owner that begins with a colon": ["a", "--owner", ":b", "--", "x"],
  })
) {
  Deno.test(`readRunRequest() refuses a command line ${what}`, () => {
    assertThrows(() => read(...words), UsageError);
  });
}
