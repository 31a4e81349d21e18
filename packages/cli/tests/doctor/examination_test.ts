import { assert, assertEquals, assertRejects } from "@std/assert";
import { memory } from "@holdfast/lock/memory";
import { examine, type Examined, examinePatient, type Patient } from "../../src/doctor/examination.ts";
import { type Finding, ok } from "../../src/doctor/finding.ts";

const { signal } = new AbortController();

/** A store in memory whose technology has found this. */
function patient(examined: Partial<Examined> = {}): Patient & { readonly closed: number } {
  return {
    closed: 0,
    store: memory(),
    advice: { failed: () => undefined, unwoken: "" },
    examine: () => Promise.resolve({ findings: [ok("role", "a master", "")], ...examined }),
    [Symbol.asyncDispose]() {
      Reflect.set(this, "closed", this.closed + 1);
      return Promise.resolve();
    },
  };
}

/** A server whose clock is ahead by so many milliseconds. */
function clock(label: string, ahead: number) {
  return { label, now: () => Promise.resolve(Date.now() + ahead) };
}

/** Returns what was found, as `level code`. */
function codes(findings: readonly Finding[]): string[] {
  return findings.map(({ level, code }) => `${level} ${code}`);
}

Deno.test("examine() asks for permissions first, and closes what it has opened", async () => {
  const opened = patient();
  const findings = await examine({ permissions: [], open: () => Promise.resolve(opened) }, signal);
  assertEquals(codes(findings).filter((each) => !each.endsWith("permission")), ["ok role", "ok lock"]);
  // Only Deno has permissions.
  const all = findings.map(({ code }) => code);
  assert(all.lastIndexOf("permission") < all.indexOf("role"), `${all}`);
  assertEquals(opened.closed, 1);

  const failing = { ...patient(), examine: () => Promise.reject(new Error("no such server")) };
  await assertRejects(
    () => examine({ permissions: [], open: () => Promise.resolve(failing) }, signal),
    Error,
    "no such",
  );
  assertEquals(failing.closed, 1);
});

Deno.test("examinePatient() finds clocks of any servers that are wrong", async () => {
  const findings = await examinePatient(patient({ clocks: [clock("right", 0), clock("wrong", 5_000)] }), signal);
  assertEquals(codes(findings), ["ok role", "ok clock", "warning clock", "ok lock"]);
  assert(/^wrong: the server's clock is (4999|5000|5001) ms ahead of/.test(findings[2]!.found), findings[2]!.found);
});

Deno.test("examinePatient() compares the clocks of a quorum only", async () => {
  const clocks = [clock("a", -8_000), clock("b", 8_000)];
  const quorum = await examinePatient(patient({ clocks, quorum: true }), signal);
  assertEquals(codes(quorum).includes("error clocks-apart"), true);
  const others = await examinePatient(patient({ clocks }), signal);
  assertEquals(codes(others), ["ok role", "warning clock", "warning clock", "ok lock"]);
});

Deno.test("examinePatient() finds a server that does not tell its time", async () => {
  const now = () => Promise.reject(new Error("permission denied for function clock_timestamp"));
  const findings = await examinePatient(patient({ clocks: [{ label: "a", now }] }), signal);
  assertEquals(codes(findings), ["ok role", "warning clock", "ok lock"]);
  assert(findings[1]!.found.includes("permission denied"), findings[1]!.found);
});

Deno.test("examinePatient() tries no lock that would prove nothing", async () => {
  assertEquals(codes(await examinePatient(patient({ futile: true }), signal)), ["ok role"]);
});
