import { reason } from "../../../tests/support/interruption.ts";
import { align } from "../../../bench/report.ts";
import type { PeerBench } from "../bench.ts";
import { type Contender, contenders } from "../contender.ts";
import { Stage } from "../stage.ts";
import { barging } from "./barging.ts";
import type { Behaviour, Observation } from "./behaviour.ts";
import { crash } from "./crash.ts";
import { evenQuorum } from "./even_quorum.ts";
import { frozenWait } from "./frozen_wait.ts";
import { hungNode } from "./hung_node.ts";
import { lateAnswer } from "./late_answer.ts";
import { lostLease } from "./lost_lease.ts";

const ALL: readonly Behaviour[] = [lostLease, crash, frozenWait, evenQuorum, hungNode, lateAnswer, barging];

/** So many libraries are watched at a time: most of it is waiting. */
const AT_A_TIME = 3;

/** What each library does in each situation, as tables. */
export async function behaviours(bench: PeerBench): Promise<string> {
  const tables: string[] = [];
  for (const behaviour of ALL) tables.push(await table(behaviour, bench));
  return tables.join("\n\n");
}

async function table(behaviour: Behaviour, bench: PeerBench): Promise<string> {
  const all = bench.peers.flatMap((id) => {
    const variants = contenders("waiting", [id], bench.titles);
    return variants.find(({ tuned }) => tuned === behaviour.tuned) ?? variants[0] ?? [];
  }).filter(behaviour.suits);
  const rows: string[][] = [];
  for (const rest = [...all]; rest.length > 0;) {
    bench.progress(`${behaviour.name}: ${rest.length} to go`);
    rows.push(...await Promise.all(rest.splice(0, AT_A_TIME).map((one) => row(behaviour, one, bench))));
  }
  const cells = align([["", "settings", "", behaviour.name], ...rows]);
  const rule = cells[0]!.map((cell) => "-".repeat(cell.length));
  const lines = [cells[0]!, rule, ...cells.slice(1)].map((cells) => `| ${cells.join(" | ")} |`);
  return [`### ${behaviour.title}`, "", ...lines].join("\n");
}

async function row(behaviour: Behaviour, contender: Contender, bench: PeerBench): Promise<string[]> {
  const { well, text } = await observe(behaviour, contender, bench);
  return [contender.title, contender.settings, well ? "✓" : "✗", text];
}

async function observe(behaviour: Behaviour, contender: Contender, bench: PeerBench): Promise<Observation> {
  await using stage = new Stage();
  bench.stack.defer(() => stage[Symbol.asyncDispose]());
  try {
    return await behaviour.observe(contender, stage);
  } catch (error) {
    return { well: false, text: `could not be observed: ${reason(error)}` };
  }
}
