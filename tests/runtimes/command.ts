/** Runs a command to its end, and gives what it printed; throws that when it fails. */
export async function command(program: string, args: string[], cwd?: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args,
    ...(cwd === undefined ? {} : { cwd }),
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`${program} ${args.slice(0, 3).join(" ")}: ${out}${err}`);
  return out ?? "";
}
