import process from "node:process";

/** The environment variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface DenoEnvironment {
  readonly Deno?: undefined | {
    readonly permissions: { querySync(permission: { name: "env"; variable: string }): { readonly state: string } };
  };
}

/**
 * Returns a variable that changes only the looks of the output; `undefined` if Deno would have to ask the user for the
 * permission.
 */
export function styleVariable(env: Environment, variable: string): string | undefined {
  const { Deno } = globalThis as DenoEnvironment;
  const asks = env === process.env && Deno !== undefined &&
    Deno.permissions.querySync({ name: "env", variable }).state !== "granted";
  return asks ? undefined : env[variable];
}
