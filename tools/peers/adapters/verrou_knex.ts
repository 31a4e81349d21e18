import { LockFactory } from "@verrou/core";
import { knexStore } from "@verrou/core/drivers/knex";
import knex from "knex";
import { LEASE, postgresUrl, RETRY } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** Verrou with its store of knex. */
export function open({ ports, tuned }: SessionOptions): Promise<Session> {
  const connection = knex({ client: "pg", connection: postgresUrl(ports), pool: { min: 0, max: 10 } });
  const factory = new LockFactory(
    knexStore({ connection }).factory(),
    tuned ? { retry: { delay: RETRY.delay } } : {},
  );
  return Promise.resolve({
    async lock(name, lease = LEASE) {
      const lock = factory.createLock(name, lease);
      if (!await lock.acquire()) throw new Error("not acquired");
      return () => lock.release();
    },
  });
}
