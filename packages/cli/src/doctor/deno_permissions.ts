import { error, type Finding, ok, warning } from "./finding.ts";

/** A permission, in the words of `Deno.permissions`, and the flag that grants it. */
export interface DoctorPermission {
  readonly descriptor: { readonly name: "net"; readonly host: string } | {
    readonly name: "read" | "write";
    readonly path: string;
  } | { readonly name: "sys"; readonly kind: "hostname" };
  readonly flag: string;
  /** The function that fails without it. */
  readonly meaning: string;
  /** Whether locks work without it. */
  readonly optional?: boolean;
}

/** The permission to read the name of this machine, which describes holders. */
export const HOSTNAME: DoctorPermission = {
  descriptor: { name: "sys", kind: "hostname" },
  flag: "--allow-sys=hostname",
  meaning: "A lock does not tell on which machine its holder is.",
  optional: true,
};

/** Returns the permission for a host with its port, or for a path. */
export function permissionFor(name: "net" | "read" | "write", of: string, meaning: string): DoctorPermission {
  const descriptor = name === "net" ? { name, host: of } as const : { name, path: of } as const;
  return { descriptor, flag: `--allow-${name}=${of}`, meaning };
}

interface Permissions {
  query(descriptor: DoctorPermission["descriptor"]): Promise<{ readonly state: string }>;
}

/** Examines the permissions of the process; returns no findings where the runtime has none. */
export async function examinePermissions(
  needed: readonly DoctorPermission[],
  permissions: Permissions | undefined = (globalThis as { Deno?: { permissions: Permissions } }).Deno?.permissions,
): Promise<Finding[]> {
  if (permissions === undefined) return [];
  const findings: Finding[] = [];
  for (const { descriptor, flag, meaning, optional = false } of needed) {
    const { state } = await permissions.query(descriptor);
    const lacking = optional ? warning : error;
    findings.push(
      state === "granted"
        ? ok("permission", flag, "Granted to this process.")
        : lacking("permission", `${flag} is not granted (${state})`, meaning, `Start the program with ${flag}.`),
    );
  }
  return findings;
}
