import { cohort } from "@holdfast/lock/cohort";
import type { Session, SessionOptions } from "../session.ts";
import { sessionOn, targetOf } from "./holdfast.ts";

/** This library, with cohorts that hand a lock on within the process for up to 10 ms. */
export async function open({ ports }: SessionOptions): Promise<Session> {
  return sessionOn(cohort(await targetOf(ports), { keep: 10 }));
}
