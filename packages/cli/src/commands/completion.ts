import { bash } from "../completion/bash.ts";
import { fish } from "../completion/fish.ts";
import { zsh } from "../completion/zsh.ts";
import { type Invocation, UsageError, type Verb } from "../command.ts";
import { GLOBAL_OPTIONS } from "../arguments/command_line.ts";
import type { Grammar } from "../completion/grammar.ts";
import { STATUS } from "../failure.ts";
import { listLocks } from "../locks/listing.ts";
import { readPages } from "../listing/pages.ts";
import { shown } from "../terminal/shown.ts";

/** How many locks are read when a shell asks for names. */
const MOST_LOCKS = 1_000;

/** A name that needs no quotes in a shell, and that is no option. */
const PLAIN = /^[\p{L}\p{N}_./:@%+=,^][\p{L}\p{N}_./:@%+=,^-]*$/u;

const SHELLS: Readonly<Record<string, (grammar: Grammar) => string>> = { bash, zsh, fish };

/**
 * Makes the command that writes completion scripts.
 *
 * @param load loads all commands, with this command
 */
export function completion(load: () => Promise<readonly Verb[]>): Verb {
  const names = Object.keys(SHELLS);
  return {
    name: "completion",
    summary: "Write a script with which a shell completes verbs, options and the names of locks",
    usage: names.join("|"),
    options: {},
    examples: [
      { line: 'eval "$(holdfast completion bash)"', what: "in ~/.bashrc" },
      { line: 'eval "$(holdfast completion zsh)"', what: "in ~/.zshrc, behind compinit" },
      { line: "holdfast completion fish > ~/.config/fish/completions/holdfast.fish", what: "for fish, once" },
    ],
    async run(invocation: Invocation): Promise<number> {
      const { args, terminal } = invocation;
      const [shell = "", ...further] = args;
      if (shell === "names" && further.length <= 1) return await writeNames(invocation, further[0] ?? "");
      const script = Object.hasOwn(SHELLS, shell) && further.length === 0 ? SHELLS[shell] : undefined;
      if (script === undefined) {
        throw new UsageError(`completion takes one of ${names.join(", ")}: got ${shown(args.join(" "))}`);
      }
      const verbs = (await load()).map(({ name, summary, usage, options }) => {
        return {
          name,
          summary,
          options,
          words: name === "completion" ? names : [],
          takesName: /^\[?(NAME|PATTERN)\b/.test(usage),
          takesCommand: usage.includes("-- "),
        };
      });
      terminal.out(script({ verbs, options: GLOBAL_OPTIONS }));
      return STATUS.ok;
    },
  };
}

/** Writes the names of locks with a given beginning, for the completion scripts: only names that need no quotes. */
async function writeNames(invocation: Invocation, beginning: string): Promise<number> {
  const opened = await invocation.store({ existing: true });
  const pages = listLocks(opened, { match: `${beginning}*` }, invocation.signal);
  const { locks } = await readPages(pages, (count) => count >= MOST_LOCKS);
  for (const { name } of locks) {
    if (name.startsWith(beginning) && PLAIN.test(name)) invocation.terminal.out(name);
  }
  return STATUS.ok;
}
