import { type Terminal, UsageError, type Verb } from "../command.ts";
import { STATUS } from "../failure.ts";
import type { Finding } from "../doctor/finding.ts";

/** The mark before a finding, and its colour on a terminal. */
const MARKS = {
  ok: { text: "ok", colour: 32 },
  warning: { text: "warning", colour: 33 },
  error: { text: "error", colour: 31 },
} as const;

/** Examines the store and what it needs. */
export const doctor: Verb = {
  name: "doctor",
  summary: "Examine the store and this process for what would break a lock",
  usage: "[options]",
  options: {
    quiet: { type: "boolean", short: "q", help: "say nothing of what is as it should be" },
  },
  examples: [
    { line: "holdfast doctor --store redis://localhost", what: "one server" },
    { line: "holdfast doctor --store redis://a --store redis://b --store redis://c", what: "a Redlock of three" },
    { line: "holdfast doctor --store sqlite:locks.db --json", what: "a file, one finding per line as JSON" },
  ],
  statuses: {
    [STATUS.failed]: "there is an error, also if the store cannot be reached; warnings alone give 0",
    [STATUS.unavailable]: false,
  },
  async run({ args, rest, options, terminal, examine }) {
    // It is not shown: it may be a URL with a password.
    if (args.length + rest.length > 0) {
      throw new UsageError("doctor takes no name: give what it examines as --store URL");
    }
    const findings = await examine();
    const listed = options["quiet"] === true ? findings.filter(({ level }) => level !== "ok") : findings;
    for (const finding of listed) print(finding, terminal);
    const broken = findings.filter(({ level }) => level === "error").length;
    const warnings = findings.filter(({ level }) => level === "warning").length;
    if (!terminal.json) terminal.out(`errors: ${broken}, warnings: ${warnings}, findings in all: ${findings.length}`);
    return broken > 0 ? STATUS.failed : STATUS.ok;
  },
};

function print(finding: Finding, terminal: Terminal): void {
  if (terminal.json) return terminal.out(JSON.stringify(finding));
  const { text, colour } = MARKS[finding.level];
  const mark = terminal.colours ? `\x1b[${colour}m${text}\x1b[0m` : text;
  terminal.out(`${mark}  ${finding.code}: ${finding.found}`);
  if (finding.level === "ok") return;
  terminal.out(`    what it means: ${finding.meaning}`);
  if (finding.advice !== "") terminal.out(`    what to do: ${finding.advice}`);
}
