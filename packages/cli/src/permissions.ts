/** A permission in the words of Deno. */
type Descriptor = { name: "net"; host: string } | { name: "read" | "write"; path: string } | {
  name: "sys";
  kind: string;
};

/** The part of `Deno.permissions` that is used. */
interface DenoPermissions {
  readonly Deno?: undefined | {
    readonly permissions: {
      request(permission: Descriptor): Promise<{ readonly state: string }>;
    };
  };
}

/** A permission that a command needs. */
export interface NeededPermission {
  readonly name: "net" | "read" | "write" | "sys";
  /** The host with its port, the path, or the kind of system information. */
  readonly of: string;
}

/**
 * Resolves to the flags of the permissions that Deno denies, such as `--allow-net=127.0.0.1:6379`; on a terminal, Deno
 * asks the user for the permissions. Resolves to no flags in other runtimes.
 */
export async function deniedPermissions(needed: readonly NeededPermission[]): Promise<string[]> {
  const { Deno } = globalThis as DenoPermissions;
  if (Deno === undefined) return [];
  const denied = new Map<string, string[]>();
  for (const { name, of } of needed) {
    const { state } = await Deno.permissions.request(descriptorOf({ name, of }));
    if (state !== "granted") denied.set(name, [...denied.get(name) ?? [], of]);
  }
  return Array.from(denied, ([name, all]) => `--allow-${name}=${all.join(",")}`);
}

function descriptorOf({ name, of }: NeededPermission): Descriptor {
  if (name === "net") return { name, host: of };
  return name === "sys" ? { name, kind: of } : { name, path: of };
}
