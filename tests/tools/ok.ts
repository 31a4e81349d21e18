/**
 * Everything that must hold before a change lands, `deno task ok`: the tests, those on other runtimes, the checks. Ends
 * with the first of them that fails.
 *
 * @module
 */
const HELP = `Run all tests once, and all checks: deno task ok

Its parts are "deno task test:all", "deno task test:runtimes" and "deno task checks --coverage".`;

const PARTS = [["test:all"], ["test:runtimes"], ["checks", "--coverage"]];

async function main(args: readonly string[]): Promise<number> {
  if (args.length > 0) {
    console.log(HELP);
    return args.every((argument) => ["--help", "-h"].includes(argument)) ? 0 : 2;
  }
  for (const part of PARTS) {
    const { code } = await new Deno.Command(Deno.execPath(), { args: ["task", ...part] }).spawn().status;
    if (code !== 0) return code;
  }
  return 0;
}

Deno.exitCode = await main(Deno.args);
