import { cohort } from "@holdfast/lock/cohort";
import type { Session, SessionOptions } from "../session.ts";
import { sessionOn, targetOf } from "./holdfast.ts";

/** This library, with cohorts that also keep a lock for 10 ms after its last release. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  return sessionOn(cohort(await targetOf(ports), { keep: 10, linger: 10 }));
}
