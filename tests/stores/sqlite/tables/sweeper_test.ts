import { assertEquals } from "@std/assert";
import { LockFile } from "../../../../src/stores/sqlite/file/file.ts";
import { Sweeper } from "../../../../src/stores/sqlite/tables/sweeper.ts";
import { ask, claimOf, rows, testWithFixture } from "../fixture.ts";

testWithFixture(
  "Sweeper.sweep() counts one revocation if it deletes holders, else none",
  async (fixture) => {
    const file = new LockFile(fixture.path, fixture.clock);
    const sweeper = new Sweeper();
    const revocations = () => file.read((run) => run.revocations.get()?.["count"]);
    const sweep = () => file.write((run, now) => sweeper.sweep(run, { client: 1, now, deadAfter: 3_000 }));
    for (let writes = 0; writes < 40; writes++) await sweep();
    assertEquals(await revocations(), 0);
    for (const count of [1, 2]) {
      assertEquals(await ask(fixture.a, claimOf({ lease: 10 })), true);
      await fixture.clock.advance(10);
      for (let writes = 0; writes < 40; writes++) await sweep();
      assertEquals(await revocations(), count);
    }
    file.close(() => {});
  },
);

testWithFixture("Sweeper.sweep() goes on with the next write after it deleted a holder", async (fixture) => {
  const file = new LockFile(fixture.path, fixture.clock);
  const sweeper = new Sweeper();
  const sweep = () => file.write((run, now) => sweeper.sweep(run, { client: 1, now, deadAfter: 3_000 }));
  await file.read(() => {});
  const { wall } = fixture.clock.now();
  for (const name of ["a", "b"]) {
    // Its lease has ended in this very millisecond.
    fixture.sql(`INSERT INTO holdfast_holders VALUES ('${name}', 'h', 'h', 'shared', ${wall}, 1, 1, 0, 0, '{}', NULL)`);
    await sweep();
    assertEquals(rows(fixture.path), [], name);
  }
  file.close(() => {});
});

testWithFixture("Sweeper.sweep() deletes a client ten minutes after its last heartbeat", async (fixture) => {
  const file = new LockFile(fixture.path, fixture.clock);
  const sweeper = new Sweeper();
  const sweep = () => file.write((run, now) => sweeper.sweep(run, { client: 1, now, deadAfter: 3_000 }));
  const dead = fixture.openDead();
  const holder = claimOf();
  assertEquals(await ask(fixture.a, holder), true);
  assertEquals(await ask(dead, claimOf()), false);
  await fixture.clock.advance(600_000);
  for (let writes = 0; writes < 40; writes++) await sweep();
  assertEquals(rows(fixture.path).length, 1, "the waiter: the lease of the holder has ended");
  await fixture.clock.advance(1);
  for (let writes = 0; writes < 40; writes++) await sweep();
  assertEquals(rows(fixture.path), []);
  dead.close();
  file.close(() => {});
});
