import type { Claim, Kind } from "../../../store.ts";

/** Formats what is asked for, as the scripts take it; empty for the usual: an exclusive lock and a fresh owner. */
export function encodeKind({ mode, permits, handle }: Claim, steal = false): string {
  if (permits !== undefined) return `:permits=${permits}`;
  if (mode === "shared") return ":shared";
  if (steal) return ":steal";
  return handle === undefined ? "" : ":exclusive";
}

/** Reads a kind of lock in a reply. */
export function decodeKind(kind: string): Kind {
  const [, permits] = /^:permits=(\d+)$/.exec(kind) ?? [];
  if (permits !== undefined) return Number(permits);
  return kind === ":shared" ? "shared" : "exclusive";
}
