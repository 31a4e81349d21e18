import type { Session } from "../session.ts";

/** What a worker is asked to do: the name of the order, and its parameters. */
export interface Order {
  readonly do: string;
  readonly [parameter: string]: unknown;
}

/** Carries out one kind of order. */
export type Handler<P, R> = (session: Session, parameters: P) => Promise<R>;

/** Gives a member of a session, or says that the library has none. */
export function need<K extends keyof Session>(session: Session, member: K): NonNullable<Session[K]> {
  const found = session[member];
  if (found === undefined) throw new Error(`has no "${member}"`);
  return found.bind(session) as NonNullable<Session[K]>;
}
