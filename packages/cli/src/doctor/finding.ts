/** The codes of all findings, which scripts may rely on: docs/command_line.md says what each examines. */
export const CODES = [
  "permission",
  "unreachable",
  "version",
  "role",
  "cluster",
  "eviction-policy",
  "memory",
  "persistence",
  "replica-lag",
  "min-replicas",
  "clock",
  "quorum",
  "not-independent",
  "clocks-apart",
  "file",
  "file-system",
  "disk",
  "standby",
  "synchronous-commit",
  "rights",
  "layout",
  "pooler",
  "autocommit",
  "auth",
  "quota",
  "client",
  "lock",
  "busy",
  "wake-up",
  "info",
] as const;

/** A short name of what is examined, which stays the same. */
export type Code = typeof CODES[number];

/** What `doctor` found. */
export interface Finding {
  /** `error`: a promise of the lock would be broken. `warning`: it may be, or something is missing. `ok`: as it should be. */
  readonly level: "ok" | "warning" | "error";
  readonly code: Code;
  /** What was found, with the values. */
  readonly found: string;
  /** What it means for a lock. */
  readonly meaning: string;
  /** What to do; empty where nothing is to be done. */
  readonly advice: string;
}

/** Returns what is as it should be; `advice` where it is worth knowing all the same. */
export function ok(code: Code, found: string, meaning: string, advice = ""): Finding {
  return { level: "ok", code, found, meaning, advice };
}

/** Returns what may break a promise of the lock, or is missing. */
export function warning(code: Code, found: string, meaning: string, advice: string): Finding {
  return { level: "warning", code, found, meaning, advice };
}

/** Returns what would break a promise of the lock. */
export function error(code: Code, found: string, meaning: string, advice: string): Finding {
  return { level: "error", code, found, meaning, advice };
}

/** Returns a finding that names where it was found. */
export function named(finding: Finding, label: string): Finding {
  return { ...finding, found: `${label}: ${finding.found}` };
}
