import { Redlock } from "@sesamecare-oss/redlock";
import { connect } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";
import { redlockSession, redlockSettings } from "../redlock_session.ts";

/** A continuation of redlock 5. */
export async function open({ ports, tuned }: SessionOptions): Promise<Session> {
  return redlockSession(new Redlock(await connect(ports, tuned), redlockSettings(tuned)));
}
