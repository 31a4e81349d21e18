import { UsageError } from "../command.ts";
import { type DoctorPermission, permissionFor } from "../doctor/deno_permissions.ts";
import { deniedPermissions } from "../permissions.ts";
import { shown } from "../terminal/shown.ts";

/** The address of a server. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Returns an address as URLs have it. */
export function hostAndPort({ host, port }: Address): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Returns the error for a URL with this fault. */
export type Fail = (what: string) => UsageError;

/** Reads an address of a URL: `host:port`, or the host alone. */
export function addressOf(text: string, defaultPort: number, fail: Fail): Address {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const number = port === undefined ? defaultPort : Number(port);
  if (host === undefined || number < 1 || number > 65_535) {
    throw fail(`has the address ${shown(text)}: write host:port`);
  }
  return { host, port: number };
}

/** Throws if Deno denies the addresses; `more` names further addresses that are needed. */
export async function checkNetwork(addresses: readonly Address[], more = ""): Promise<void> {
  const denied = await deniedPermissions(addresses.map((address) => ({ name: "net", of: hostAndPort(address) })));
  if (denied.length > 0) throw new UsageError(`Deno denies access to the network: run with ${denied.join(" ")}${more}`);
}

/** Returns the permission for an address, without which the server cannot be reached. */
export function networkPermission(address: Address): DoctorPermission {
  return permissionFor("net", hostAndPort(address), "The server cannot be reached.");
}
