import { reason } from "@holdfast/lock/authors";
import type { SqliteStore } from "@holdfast/lock/sqlite";
import { access, constants, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import type { Examined, Patient } from "./examination.ts";
import { type Finding, verdicts } from "./finding.ts";
import type { LockAdvice } from "./lock_cycle.ts";

/** File systems on which file locks are unreliable, by their numbers in Linux (statfs(2)). */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB 2"],
  [0x01021997, "9P (a directory shared by the host)"],
  [0x65735546, "FUSE (sshfs and the like)"],
  [0x00c36400, "Ceph"],
  [0x5346414f, "AFS"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x19830326, "BeeGFS"],
]);

/** File systems that lose their files at a restart. */
const PASSING: ReadonlyMap<number, string> = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
  [0x794c7630, "overlay (the writable layer of a container)"],
]);

/** Advice for a file that can be opened but stays locked. */
const WRITER = "Look for a process that writes to the file for seconds, or was stopped while it wrote.";

const ADVICE: LockAdvice = {
  failed: (message) => /did not answer|kept it to itself/.test(message) ? WRITER : undefined,
  unwoken: WRITER,
};

const judged = verdicts({
  "file": {
    error: [
      "The file and its folder must be writable: SQLite keeps a journal beside the file.",
      "Give the user of the process the right to write to both.",
    ],
  },
  "disk": { warning: ["When the disk is full nobody acquires a lock or renews it.", "Make room on the disk."] },
  "file-system": {
    ok: ["Locks of files hold."],
    warning: [
      "After a restart the file is gone, with its fences; containers do not share it.",
      "Put the file on a disk, or on a volume that the containers share.",
    ],
    error: [
      "SQLite's own locks do not hold on network file systems: two processes may be granted one lock.",
      "Put the file on a local disk, or use Redis for processes on several machines.",
    ],
  },
});

/** The free space in bytes below which the disk is nearly full. */
const LOW_BYTES = 16 * 1_024 * 1_024;

/** The file system of a file. */
export interface Place {
  /** The number of its kind. */
  readonly type: number;
  readonly free: number;
}

/** Returns a SQLite file, to examine it and its file system. */
export function sqlitePatient(path: string, store: SqliteStore): Patient {
  return {
    store,
    advice: ADVICE,
    examine: () => examineFile(path),
    [Symbol.asyncDispose]: () => Promise.resolve(store.close()),
  };
}

async function examineFile(path: string): Promise<Examined> {
  const folder = dirname(path);
  const writable = await mayWrite(path, folder);
  if (writable !== undefined) return { findings: [writable], futile: true };
  return { findings: judgePlace(await placeOf(folder)) };
}

async function placeOf(folder: string): Promise<Place> {
  const { type, bavail, bsize } = await statfs(folder);
  // Some runtimes give the number with a sign.
  return { type: Number(type) >>> 0, free: Number(bavail) * Number(bsize) };
}

async function mayWrite(path: string, folder: string): Promise<Finding | undefined> {
  try {
    await access(folder, constants.W_OK);
    if (await stat(path).then(() => true, () => false)) await access(path, constants.W_OK);
    return undefined;
  } catch (fault) {
    return judged("file", "error", `${path}: ${reason(fault)}`);
  }
}

/** Judges the file system of a file. */
export function judgePlace({ type, free }: Place): Finding[] {
  const disk = free < LOW_BYTES ? [judged("disk", "warning", `${free} bytes are free`)] : [];
  return [fileSystem(type), ...disk];
}

function fileSystem(type: number): Finding {
  const network = NETWORK.get(type);
  const passing = PASSING.get(type);
  if (network !== undefined) return judged("file-system", "error", `the file is on ${network}`);
  if (passing !== undefined) return judged("file-system", "warning", `the file is on ${passing}`);
  return judged("file-system", "ok", "a local file system");
}
