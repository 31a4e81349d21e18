/** The codes of all findings, on which scripts may rely. docs/command_line.md describes each. */
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
  "lost-connection",
  "autocommit",
  "auth",
  "quota",
  "client",
  "lock",
  "busy",
  "wake-up",
  "info",
] as const;

/** The stable short name of a finding. */
export type Code = typeof CODES[number];

/** A result of `doctor`. */
export interface Finding {
  /**
   * `error`: a promise of the lock would be broken. `warning`: it may be, or something is missing. `ok`: as it should
   * be.
   */
  readonly level: "ok" | "warning" | "error";
  readonly code: Code;
  /** The facts, with the values. */
  readonly found: string;
  /** Their consequence for locks. */
  readonly meaning: string;
  /** The advice; empty where nothing needs doing. */
  readonly advice: string;
}

/** Returns a finding without a fault; with `advice` where something is worth knowing all the same. */
export function ok(code: Code, found: string, meaning: string, advice = ""): Finding {
  return { level: "ok", code, found, meaning, advice };
}

/** Returns a finding that may break a promise of the lock, or is missing. */
export function warning(code: Code, found: string, meaning: string, advice: string): Finding {
  return { level: "warning", code, found, meaning, advice };
}

/** Returns a finding that breaks a promise of the lock. */
export function error(code: Code, found: string, meaning: string, advice: string): Finding {
  return { level: "error", code, found, meaning, advice };
}

/** The meaning of a finding, and the advice. */
type Verdict = readonly [meaning: string, advice?: string];

/** The verdicts on the properties of a technology, by the code and the level. */
type Verdicts = { readonly [code in Code]?: { readonly [level in Finding["level"]]?: Verdict } };

/** Returns a function that makes the findings of a table, from a code, its level, and the facts. */
export function verdicts<const Table extends Verdicts>(table: Table) {
  return <C extends keyof Table & Code>(code: C, level: keyof Table[C] & Finding["level"], found: string): Finding => {
    const [meaning, advice = ""] = (table as Verdicts)[code]![level]!;
    return { level, code, found, meaning, advice };
  };
}

/** Returns a finding that names the place where it was found. */
export function named(finding: Finding, label: string): Finding {
  return { ...finding, found: `${label}: ${finding.found}` };
}
