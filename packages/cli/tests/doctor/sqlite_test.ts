import { assert, assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { sqlite } from "@holdfast/lock/sqlite";
import { examinePatient } from "../../src/doctor/examination.ts";
import { judgePlace, sqlitePatient } from "../../src/doctor/sqlite.ts";
import type { Finding } from "../../src/doctor/finding.ts";

/** Returns the findings that are not as they should be, as `level code`. */
function faults(findings: readonly Finding[]): string[] {
  return findings.filter(({ level }) => level !== "ok").map(({ level, code }) => `${level} ${code}`);
}

Deno.test("sqlitePatient() finds nothing wrong with a lock on a local disk", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "holdfast_doctor_" });
  try {
    using store = sqlite(`${folder}/locks.db`);
    const findings = await examinePatient(sqlitePatient(`${folder}/locks.db`, store), new AbortController().signal);
    assertEquals(findings.filter(({ level }) => level === "error"), []);
    for (const code of ["file-system", "lock"]) assert(findings.some((each) => each.code === code), code);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("sqlitePatient() finds a folder that does not exist", async () => {
  using store = sqlite(":memory:");
  const findings = await examinePatient(sqlitePatient("no/such/folder/locks.db", store), new AbortController().signal);
  assertEquals(faults(findings), ["error file"]);
  assert(/no\/such\/folder/.test(findings[0]!.found), findings[0]!.found);
});

Deno.test("sqlitePatient() advises what helps with a file, and never a right of Redis", async () => {
  // The words with which the store of Redis names a right.
  const folder = Deno.makeTempDirSync({ prefix: "ACL SETUSER " });
  try {
    const path = `${folder}/locks.db`;
    using store = sqlite(path);
    await store.query();
    using writer = new DatabaseSync(path);
    writer.exec("BEGIN IMMEDIATE; DROP TABLE holdfast_holders");
    const advice = async () => {
      const findings = await examinePatient(sqlitePatient(path, store), new AbortController().signal);
      const { code, advice } = findings.at(-1)!;
      return `${code}: ${advice}`;
    };
    const locked = await advice();
    writer.exec("COMMIT");
    assertEquals([locked, await advice()], [
      "lock: Look for a process that writes to the file for seconds, or was stopped while it wrote.",
      "lock: See the message.",
    ]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("judgePlace() finds network file systems, passing ones, and full disks", () => {
  const free = 2 ** 40;
  assertEquals(faults(judgePlace({ type: 0xef53, free })), []);
  assertEquals(faults(judgePlace({ type: 0x6969, free })), ["error file-system"]);
  assertEquals(faults(judgePlace({ type: 0xfe534d42, free })), ["error file-system"]);
  assertEquals(faults(judgePlace({ type: 0x01021994, free })), ["warning file-system"]);
  assertEquals(faults(judgePlace({ type: 0xef53, free: 1_000 })), ["warning disk"]);
});
