// Deno only: it replaces functions of the process.
import { assert, assertEquals } from "@std/assert";
import { Child } from "../../src/supervise/child.ts";
import { Signals } from "../../src/supervise/signals.ts";
import { FakeChild, FakeProcess, ID } from "./fake_process.ts";

const NAMES = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGTSTP", "SIGUSR1", "SIGUSR2"];

/** A command in a group of its own or, with `foreground`, in that of this process. */
function start(signals: Signals, { foreground = false } = {}) {
  const fake = new FakeChild();
  const child = new Child(fake.asChild, ID, foreground);
  signals.passTo(child);
  return fake;
}

Deno.test("Signals ends the wait with the first signal that asks to end", () => {
  for (const [name, status] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129, SIGQUIT: 131 })) {
    using self = new FakeProcess();
    const signals = new Signals(() => {});
    assertEquals([signals.interruption.aborted, signals.status], [false, undefined]);
    self.receive(name);
    self.receive("SIGTERM");
    assertEquals([signals.interruption.aborted, signals.status], [true, status]);
    assert(String(signals.interruption.reason).includes(`interrupted by ${name}`));
  }
});

Deno.test("Signals leaves the wait alone on SIGUSR1, SIGUSR2 and Ctrl-Z", () => {
  using self = new FakeProcess();
  const warnings: string[] = [];
  const signals = new Signals((message) => warnings.push(message));
  for (const name of ["SIGUSR1", "SIGUSR2", "SIGTSTP"]) self.receive(name);
  assertEquals([signals.interruption.aborted, signals.status, self.sent], [false, undefined, []]);
  assertEquals(warnings, ["Ctrl-Z is ignored: suspended, the holder would lose its lock"]);
});

Deno.test("Signals passes signals on: to all processes what asks to end, else to one", () => {
  using self = new FakeProcess();
  const signals = new Signals(() => {});
  start(signals);
  for (const name of NAMES.filter((name) => name !== "SIGTSTP")) self.receive(name);
  assertEquals(self.sent, [
    [-ID, "SIGHUP"],
    [-ID, "SIGINT"],
    [-ID, "SIGQUIT"],
    [-ID, "SIGTERM"],
    [ID, "SIGUSR1"],
    [ID, "SIGUSR2"],
  ]);
  assertEquals([signals.interruption.aborted, signals.status], [false, undefined]);
});

Deno.test("Signals passes SIGTERM on to a command in the foreground, and not to its group", () => {
  using self = new FakeProcess();
  start(new Signals(() => {}), { foreground: true });
  self.receive("SIGTERM");
  assertEquals(self.sent, [[ID, "SIGTERM"]]);
});

Deno.test("Signals continues the command that Ctrl-Z has suspended", () => {
  using self = new FakeProcess();
  start(new Signals(() => {}), { foreground: true });
  self.receive("SIGTSTP");
  assertEquals(self.sent, [[ID, "SIGCONT"]]);
});

Deno.test("Signals passes nothing on to what a command has left behind", () => {
  using self = new FakeProcess();
  const signals = new Signals(() => {});
  start(signals).end(0);
  for (const name of NAMES) self.receive(name);
  assertEquals([self.sent, signals.interruption.aborted], [[], false]);
});

Deno.test("Signals stops listening when it is closed", () => {
  using self = new FakeProcess();
  const signals = new Signals(() => {});
  assertEquals(self.heard, NAMES);
  signals.close();
  assertEquals(self.heard, []);
});
