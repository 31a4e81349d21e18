import { bash } from "../completion/bash.ts";
import { fish } from "../completion/fish.ts";
import { zsh } from "../completion/zsh.ts";
import { type Invocation, UsageError, type Verb } from "../command.ts";
import { GLOBAL_OPTIONS } from "../arguments/command_line.ts";
import type { Grammar } from "../completion/grammar.ts";
import { STATUS } from "../failure.ts";
import { shown } from "../terminal/shown.ts";

const SHELLS: Readonly<Record<string, (grammar: Grammar) => string>> = { bash, zsh, fish };

/**
 * Makes the command that writes completion scripts.
 *
 * @param load loads all commands, this one too
 */
export function completion(load: () => Promise<readonly Verb[]>): Verb {
  const names = Object.keys(SHELLS);
  return {
    name: "completion",
    summary: "Write a script with which a shell completes verbs and options",
    usage: names.join("|"),
    options: {},
    examples: [
      { line: 'eval "$(holdfast completion bash)"', what: "in ~/.bashrc" },
      { line: 'eval "$(holdfast completion zsh)"', what: "in ~/.zshrc, behind compinit" },
      { line: "holdfast completion fish > ~/.config/fish/completions/holdfast.fish", what: "for fish, once" },
    ],
    statuses: { [STATUS.unavailable]: false },
    async run({ args, terminal }: Invocation): Promise<number> {
      const [shell = "", ...further] = args;
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
          takesCommand: usage.includes("-- "),
        };
      });
      terminal.out(script({ verbs, options: GLOBAL_OPTIONS }));
      return STATUS.ok;
    },
  };
}
