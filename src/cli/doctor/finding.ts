/** What `doctor` found. */
export interface Finding {
  /** `error`: a promise of the lock would be broken. `warning`: it may be, or something is missing. `ok`: as it should be. */
  readonly level: "ok" | "warning" | "error";
  /** A short name that stays the same, such as `eviction-policy`. */
  readonly code: string;
  /** What was found, with the values. */
  readonly found: string;
  /** What it means for a lock. */
  readonly meaning: string;
  /** What to do; empty where nothing is to be done. */
  readonly advice: string;
}

/** Returns what is as it should be; `advice` where it is worth knowing all the same. */
export function ok(code: string, found: string, meaning: string, advice = ""): Finding {
  return { level: "ok", code, found, meaning, advice };
}

/** Returns what may break a promise of the lock, or is missing. */
export function warning(code: string, found: string, meaning: string, advice: string): Finding {
  return { level: "warning", code, found, meaning, advice };
}

/** Returns what would break a promise of the lock. */
export function error(code: string, found: string, meaning: string, advice: string): Finding {
  return { level: "error", code, found, meaning, advice };
}

/** Returns a finding that names where it was found. */
export function named(finding: Finding, label: string): Finding {
  return { ...finding, found: `${label}: ${finding.found}` };
}
