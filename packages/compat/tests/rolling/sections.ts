/** What a process has written when it entered a section, or left one, in the order of the server. */
export interface SectionEvent {
  /** The server's clock, in milliseconds. */
  readonly at: number;
  /** The id of the section. */
  readonly section: string;
  /** The kind of the process. */
  readonly kind: string;
  /** Until when its lock was trusted at least, by the same clock; left out when it left. */
  readonly trustedUntil?: number | undefined;
}

/** Returns the sections that were entered while another one was open, and its lock was still to be trusted. */
export function overlaps(events: readonly SectionEvent[]): string[] {
  const open = new Map<string, SectionEvent>();
  const found: string[] = [];
  for (const event of events) {
    if (event.trustedUntil === undefined) {
      open.delete(event.section);
      continue;
    }
    for (const other of open.values()) {
      if (other.trustedUntil! > event.at) found.push(`${event.kind} entered beside ${other.kind} at ${event.at}`);
      else open.delete(other.section);
    }
    open.set(event.section, event);
  }
  return found;
}
