/** What to do when something cannot be compiled. */
const REMEDY = 'install one with "apt-get install gcc libc6-dev"';

/**
 * Compiles a program, or with `-shared` a library, with the C compiler that the test command has found, or the first
 * one.
 */
export async function compile(source: string, output: string, flags: readonly string[] = []): Promise<void> {
  const named = Deno.env.get("CC");
  const args = [...flags, "-O2", "-Wall", "-Wextra", "-Werror", "-o", output, source];
  for (const compiler of named ? [named] : ["cc", "gcc", "clang"]) {
    try {
      const { success, stderr } = await new Deno.Command(compiler, { args, stderr: "piped" }).output();
      if (success) return;
      throw new Error(`${compiler} fails: ${REMEDY}. It says: ${new TextDecoder().decode(stderr)}`);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new Error(`no C compiler: ${REMEDY}`);
}
