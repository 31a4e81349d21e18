import { dependencies, FOLDER } from "./versions.ts";

/** Installs what is missing; with all in place it takes no time. No package runs a script of its own meanwhile. */
export async function install(): Promise<void> {
  const manifest = JSON.stringify({ private: true, type: "module", dependencies: dependencies() }, null, 2);
  const stamp = `${FOLDER}installed.json`;
  if (await Deno.readTextFile(stamp).catch(() => "") === manifest) return;
  await Deno.mkdir(FOLDER, { recursive: true });
  await Deno.writeTextFile(`${FOLDER}package.json`, manifest);
  // A configuration of its own: that of the project would apply otherwise.
  await Deno.writeTextFile(`${FOLDER}deno.json`, JSON.stringify({ nodeModulesDir: "auto", lock: false }));
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--quiet"],
    cwd: FOLDER,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`Cannot install the runtimes: ${new TextDecoder().decode(stderr)}`);
  // Last: an installation that was interrupted is begun again.
  await Deno.writeTextFile(stamp, manifest);
}
