import { MEMBERS, textOf } from "../support/test_files.ts";

/** A package of the workspace, as its deno.json has it. */
export interface Package {
  readonly name: string;
  readonly version: string;
  /** Where it is from the root on; empty for the lock itself. */
  readonly folder: string;
  /** The entry points: their paths in the package, by what stands behind its name. */
  readonly exports: Readonly<Record<string, string>>;
}

/** The lock, and the packages beside it, which need it. */
export const PACKAGES: readonly Package[] = ["", ...MEMBERS.map((name) => `packages/${name}/`)].map((folder) => {
  return { folder, ...JSON.parse(textOf(`${folder}deno.json`)) };
});

/** Returns the paths of the entry points of all packages, from the root on. */
export function entryPoints(packages: readonly Package[] = PACKAGES): string[] {
  return packages.flatMap(({ folder, exports }) => {
    return Object.values(exports).map((path) => folder + path.replace(/^\.\//, ""));
  });
}
