import advisoryLock from "advisory-lock";
import { postgresUrl } from "../clients.ts";
import type { Session, SessionOptions } from "../session.ts";

/** It opens a connection for each lock, and has neither a lease nor a fence. */
export function open({ ports }: SessionOptions): Promise<Session> {
  const createMutex = advisoryLock.default(postgresUrl(ports));
  return Promise.resolve({ lock: (name) => createMutex(name).lock() });
}
