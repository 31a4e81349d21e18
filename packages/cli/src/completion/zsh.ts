import type { OptionSpec } from "../command.ts";
import { type Grammar, quoted } from "./grammar.ts";

/** Returns the completion script for zsh. */
export function zsh({ verbs, options }: Grammar): string {
  const specs = (all: Readonly<Record<string, OptionSpec>>) => Object.entries(all).map(specOf).map(quoted);
  const cases = verbs.map(({ name, options: own, words, takesName, takesCommand }) => {
    const first = quoted(takesName ? "1: :_holdfast_names" : `1: :(${words.join(" ")})`);
    const command = takesCommand ? [quoted("*:: :_normal")] : [];
    return `    ${name}) _arguments -S ${[first, ...specs(own), ...specs(options), ...command].join(" ")} ;;`;
  });
  const described = verbs.map(({ name, summary }) => quoted(`${name}:${summary.replaceAll(":", "\\:")}`));
  return `#compdef holdfast
# Completion of holdfast in zsh: eval "$(holdfast completion zsh)", behind compinit
_holdfast_names() {
  local -a names
  names=(\${(f)"$(holdfast completion names "$PREFIX" 2>/dev/null)"})
  compadd -a names
}
_holdfast() {
  local line state
  local -a verbs
  verbs=(${described.join(" ")})
  _arguments -C -S ${specs(options).join(" ")} '1: :->verb' '*:: :->rest'
  case $state in
    verb) _describe verb verbs ;;
    rest)
      case $line[1] in
${cases.map((line) => `    ${line}`).join("\n")}
      esac ;;
  esac
}
if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi`;
}

/** Returns the specification of an option for _arguments. */
function specOf([name, { type, value, values, help, multiple }]: [string, OptionSpec]): string {
  const text = help.replace(/[[\]:\\]/g, "\\$&");
  const words = values === undefined ? " " : `(${values.join(" ")})`;
  const argument = type === "boolean" ? "" : name === "config" ? ":file:_files" : `:${value ?? "value"}:${words}`;
  return `${multiple ? "*" : ""}--${name}[${text}]${argument}`;
}
