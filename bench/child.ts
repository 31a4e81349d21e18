/** Runs a program in a process of its own, which is killed with the run, and returns what it prints as JSON. */
export async function runChild<T>(command: string, args: readonly string[], stack: AsyncDisposableStack): Promise<T> {
  const process = new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  stack.defer(async () => {
    try {
      process.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
    await process.status;
  });
  const { success, stdout } = await process.output();
  if (!success) throw new Error(`the process failed: ${command} ${args.join(" ")}`);
  return JSON.parse(new TextDecoder().decode(stdout));
}
