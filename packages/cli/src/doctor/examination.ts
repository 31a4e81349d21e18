import type { Store } from "@holdfast/lock";
import { examineClocks, type ServerClock } from "./clock_skew.ts";
import { type DoctorPermission, examinePermissions, HOSTNAME } from "./deno_permissions.ts";
import type { Finding } from "./finding.ts";
import { type LockAdvice, tryLock } from "./lock_cycle.ts";

/** An examination by `doctor`: what a scheme makes of its URLs. */
export interface Examination {
  /** The permissions that Deno must grant, but for the name of the host. */
  readonly permissions: readonly DoctorPermission[];
  /** Opens the store, once the permissions are granted. */
  open(): Promise<Patient>;
}

/** An open store to examine. Disposing of it closes what was opened. */
export interface Patient extends AsyncDisposable {
  readonly store: Store;
  readonly advice: LockAdvice;
  /** Examines the properties of this technology. */
  examine(signal: AbortSignal): Promise<Examined>;
  /** Removes the record of a lock that was released; left out where a store keeps none, or drops it by itself. */
  remove?(name: string): Promise<unknown>;
}

/** The results that only one technology has. */
export interface Examined {
  readonly findings: readonly Finding[];
  /** The clocks of the servers that answered. */
  readonly clocks?: readonly ServerClock[];
  /** Whether the servers are a quorum: then their clocks are compared with each other. */
  readonly quorum?: boolean;
  /** Whether to skip the trial of a lock, because it would prove nothing. */
  readonly futile?: boolean;
}

/** Examines the store of any technology. Rejects with the reason of the signal when that aborts. */
export async function examine({ permissions, open }: Examination, signal: AbortSignal): Promise<Finding[]> {
  const findings = await examinePermissions([...permissions, HOSTNAME]);
  if (findings.some(({ level }) => level === "error")) return findings;
  const patient = await open();
  try {
    return [...findings, ...await examinePatient(patient, signal)];
  } finally {
    await patient[Symbol.asyncDispose]();
  }
}

/** Examines an open store: first the properties of its technology, then clocks and a trial lock. */
export async function examinePatient(patient: Patient, signal: AbortSignal): Promise<Finding[]> {
  const { findings, clocks = [], quorum = false, futile = false } = await patient.examine(signal);
  signal.throwIfAborted();
  const found = [...findings, ...await examineClocks(clocks, quorum)];
  if (futile) return found;
  const { store, advice } = patient;
  return [...found, ...await tryLock(store, { signal, advice, remove: patient.remove?.bind(patient) })];
}
