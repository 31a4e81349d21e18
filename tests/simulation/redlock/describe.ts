import type { Scenario } from "./scenario.ts";

/** Returns a scenario in a line. */
export function describe(scenario: Scenario): string {
  const {
    theme,
    nodeKind,
    single,
    handsOn,
    cohort,
    faults,
    nodes,
    clients,
    workers,
    names,
    shared,
    fences,
    leases,
    nodeTimeout,
    length,
    quality,
  } = scenario;
  const { wipes, clockSet, taken, broken } = scenario;
  const { lost, doubled, delayed, connected } = quality;
  return [
    `${faults} faults for ${length.toFixed(0)} ms`,
    ...(theme === "anything" ? [] : [theme]),
    single
      ? `one server${handsOn ? ", runs handed on" : ""}`
      : `${nodes.length} nodes${nodeKind === "scripts" ? " that run scripts" : ""}`,
    `${clients.length} clients of ${workers}`,
    `${names.length} names`,
    ...(shared === 0 ? [] : [`${shared * 100} % shared`]),
    ...(cohort === undefined
      ? []
      : [`cohorts that keep a lock for ${cohort.keep} ms and linger for ${cohort.linger} ms`]),
    ...(fences === 1 ? [] : [`up to ${fences} fences at once`]),
    `leases of ${leases.join(" to ")} ms`,
    ...(nodeTimeout === undefined ? [] : [`nodes time out after ${nodeTimeout} ms`]),
    ...(connected ? ["connections"] : []),
    `${lost * 100} % of messages lost, ${doubled * 100} % doubled, ${delayed * 100} % delayed`,
    ...(taken === undefined ? [] : [`n${taken} taken by a rival`]),
    ...(wipes === "none" ? [] : ["data losses"]),
    ...(clockSet === "none" ? [] : ["clocks set"]),
    broken.length === 0 ? "one holder at a time" : `exclusion not promised: ${broken.join(", ")}`,
  ].join(", ");
}
