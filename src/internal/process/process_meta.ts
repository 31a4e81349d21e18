/** The parts of the runtimes' globals that describe the process. */
interface HostRuntime {
  readonly Deno?: undefined | {
    readonly pid: number;
    hostname(): string;
    readonly permissions?: { querySync?(permission: { name: "sys"; kind: "hostname" }): { readonly state: string } };
  };
  readonly process?: undefined | {
    readonly pid?: number;
    getBuiltinModule?(id: string): { hostname(): string } | undefined;
  };
}

/** Returns the machine and the process, as far as the runtime tells them without asking the user for a permission. */
export function describeProcess({ Deno, process }: HostRuntime = globalThis as HostRuntime): Record<string, string> {
  const host = hostname({ Deno, process });
  const pid = Deno?.pid ?? process?.pid;
  return { ...host === undefined ? {} : { host }, ...pid === undefined ? {} : { pid: String(pid) } };
}

function hostname({ Deno, process }: HostRuntime): string | undefined {
  try {
    // What else has the name of Deno is a stand-in on another runtime.
    if (Deno?.permissions === undefined) return process?.getBuiltinModule?.("node:os")?.hostname();
    // Without the look at the permission, the user would be asked for it.
    const { state } = Deno.permissions.querySync?.({ name: "sys", kind: "hostname" }) ?? {};
    return state === "granted" ? Deno.hostname() : undefined;
  } catch {
    return undefined; // A runtime that knows the function, but not the name.
  }
}
