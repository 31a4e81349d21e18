import { dependencies, FOLDER, LEFT_OUT } from "./versions.ts";

/**
 * Installs what is missing; with all in place it takes no time. No package runs a script of its own meanwhile.
 *
 * @throws {Error} in one line, which names what cannot be fetched
 */
export async function install(folder = FOLDER, env: Record<string, string> = {}): Promise<void> {
  const files = {
    "package.json": { private: true, type: "module", dependencies: dependencies() },
    // A configuration of its own: that of the project would apply otherwise. A link is not fetched.
    "deno.json": { nodeModulesDir: "auto", lock: false, links: Object.keys(LEFT_OUT).map((name) => `./${name}`) },
    ...Object.fromEntries(
      Object.entries(LEFT_OUT).map(([name, version]) => [`${name}/package.json`, { name, version }]),
    ),
  };
  const stamp = `${folder}installed.json`;
  const wanted = JSON.stringify(files, null, 2);
  if (await Deno.readTextFile(stamp).catch(() => "") === wanted) return;
  // What was there for other versions.
  await Deno.remove(`${folder}node_modules`, { recursive: true }).catch(() => {});
  for (const [path, content] of Object.entries(files)) {
    await Deno.mkdir(new URL(".", `file://${folder}${path}`), { recursive: true });
    await Deno.writeTextFile(folder + path, JSON.stringify(content));
  }
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["install", "--quiet"],
    cwd: folder,
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`Cannot fetch the runtimes from npm: ${reason(new TextDecoder().decode(stderr))}`);
  // Last: an installation that was interrupted is begun again.
  await Deno.writeTextFile(stamp, wanted);
}

/** What Deno says of an error, in one line: what it was about, and its causes. */
function reason(stderr: string): string {
  const [text = ""] = stderr.slice(stderr.indexOf("error: ")).split("\n\nStack backtrace:");
  return text.replace(/^error: /, "").replace(/\s+Caused by:\s+/g, ": ").replace(/\s*\n\s*/g, ": ").trim();
}
