import Redlock from "@holdfast/compat/redlock";
import { connect } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";
import { redlockSession, redlockSettings } from "../redlock_session.ts";

/** This library, by the interface of redlock 5. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  return redlockSession(new Redlock(await connect(ports, false), redlockSettings(true)));
}
