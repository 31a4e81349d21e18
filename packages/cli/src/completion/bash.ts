import { type Grammar, optionsWithValues, quoted, valuesOfOptions } from "./grammar.ts";

/** Returns the completion script for bash. */
export function bash(grammar: Grammar): string {
  const { verbs, options } = grammar;
  const dashed = (specs: object) => Object.keys(specs).map((name) => `--${name}`);
  const names = verbs.map(({ name }) => name);
  const commands = verbs.filter(({ takesCommand }) => takesCommand).map(({ name }) => name);
  const named = verbs.filter(({ takesName }) => takesName).map(({ name }) => name);
  const cases = verbs.map(({ name, options: own, words }) => {
    return `    ${name}) words=${quoted([...words, ...dashed(own), ...dashed(options)].join(" "))} ;;`;
  });
  const values = Object.entries(valuesOfOptions(grammar)).map(([name, words]) => {
    return `    --${name}) COMPREPLY=($(compgen -W ${quoted(words.join(" "))} -- "$word")); return ;;`;
  });
  return `# Completion of holdfast in bash: eval "$(holdfast completion bash)"
_holdfast_names() {
  local line=\${COMP_LINE:-} IFS=$'\\n' begun name
  begun=\${line:0:\${COMP_POINT:-0}} begun=\${begun##*[[:space:]]}
  # bash ends a word at these characters, and completes what is behind the last one.
  local before=\${begun%"\${begun##*[:=@]}"}
  for name in $(holdfast completion names "$begun" 2>/dev/null); do COMPREPLY+=("\${name#"$before"}"); done
}
_holdfast() {
  local word=\${COMP_WORDS[COMP_CWORD]} verb='' words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      --)${
    commands.length > 0 ? ` [[ $verb == @(${commands.join("|")}) ]] && COMPREPLY=($(compgen -c -- "$word"));` : ""
  } return ;;
      ${names.join("|")}) [[ -n $verb ]] || verb=\${COMP_WORDS[i]} ;;
    esac
  done
  case \${COMP_WORDS[COMP_CWORD - 1]} in
    --config) COMPREPLY=($(compgen -f -- "$word")); return ;;
${values.join("\n")}
    ${optionsWithValues(grammar).filter((option) => option !== "--config").join("|")}) return ;;
  esac
  case $verb in
${cases.join("\n")}
    *) words=${quoted([...names, ...dashed(options)].join(" "))} ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  case $verb in
    ${named.join("|")}) [[ $word == -* ]] || _holdfast_names ;;
  esac
}
complete -F _holdfast holdfast`;
}
