import Redlock from "redlock5";
import { connect } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";
import { redlockSession, redlockSettings } from "../redlock_session.ts";

/** redlock 5, a beta since 2021. */
export async function open({ ports, tuned }: SessionOptions): Promise<Session> {
  return redlockSession(new Redlock(await connect(ports, tuned), redlockSettings(tuned)));
}
