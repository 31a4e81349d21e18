import { cohort } from "@holdfast/lock/cohort";
import type { Session, SessionOptions } from "../session.ts";
import { sessionOn, targetOf } from "./holdfast.ts";

/** This library, with cohorts that keep a lock for up to 50 ms while the process uses it again and again. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  return sessionOn(cohort(await targetOf(ports), { keep: 50, linger: 50 }));
}
