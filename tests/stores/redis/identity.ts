import type { Claim, Entry } from "@holdfast/lock";

/** What a listing tells of a handle that its claim tells as well. */
export type Identity = Pick<Entry, "name" | "owner" | "handle" | "mode" | "permits">;

/** Returns that of an entry or of a claim. */
export function identityOf({ name, owner, handle = owner, mode, permits }: Entry | Claim): Identity {
  return permits === undefined ? { name, owner, handle, mode } : { name, owner, handle, mode, permits };
}
