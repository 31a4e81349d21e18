/** What a server says that lacks something, and what that is. */
const LACKS: readonly (readonly [words: RegExp, lack: string])[] = [
  [/unknown command.*(evalsha|eval)\b/is, "the server does not run scripts (EVALSHA and EVAL)"],
  [/unknown (redis |valkey )?command/i, "the server lacks a command that locks need"],
  // Before 6.2 SET did not take GET; before 5.0 a script could not write after it had asked for the time.
  [/syntax error|non deterministic commands/i, "the server is too old, or only resembles Redis"],
];

/** What the server says, and what it lacks when that is why it refuses a script. */
export function refusal(words: string): string {
  const lack = LACKS.find(([pattern]) => pattern.test(words))?.[1];
  return lack === undefined ? words : `${lack}; Redis 6.2 or later, or Valkey, is needed: ${words}`;
}
