import { postgres } from "@holdfast/lock/postgres";
import pg from "pg";
import { poolOf, postgresUrl } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";
import { sessionOn } from "./holdfast.ts";

/** This library in PostgreSQL, with LISTEN. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  return sessionOn(
    postgres(await poolOf(ports), { listen: () => new pg.Client({ connectionString: postgresUrl(ports) }) }),
  );
}
