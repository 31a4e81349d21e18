import type { Campaign } from "./campaign.ts";
import { changesOf, texts } from "./changes.ts";
import { LUA_FAULTS, type LuaFault } from "./lua_faults.ts";
import { pinLua } from "./lua_pin.ts";
import { applied, type Change } from "./mutant.ts";
import { pin } from "./pin.ts";
import { type Fault, FAULTS, testFileOf } from "./pinned.ts";
import { SCRIPTS, type Stage, type Target, TARGETS } from "./targets.ts";

/** A fault, where it is planted, and what is to notice it. */
export interface Pinned {
  readonly name: string;
  readonly open: boolean;
  readonly target: Target;
  readonly path: string;
  readonly change: Change;
}

/** Finds the places of all faults; throws when one is not there. */
export async function pinAll(
  faults: readonly Fault[] = FAULTS,
  luaFaults: readonly LuaFault[] = LUA_FAULTS,
): Promise<Pinned[]> {
  const pinned: Pinned[] = [];
  // One for each file: it is run once without a fault.
  const stages = new Map<string, Stage>();
  const sources = new Map<Target, ReadonlyMap<string, string>>();
  for (const fault of faults) {
    const whole = TARGETS.find(({ name }) => name === fault.target);
    if (whole === undefined) throw new Error(`"${fault.name}": there is no target ${fault.target}`);
    const stage = stages.get(fault.test) ?? { tests: new RegExp(`^${testFileOf(fault).replace(".", "\\.")}$`) };
    stages.set(fault.test, stage);
    const source = sources.get(whole) ?? await texts(whole.source);
    sources.set(whole, source);
    const target = { ...whole, stages: [stage] };
    pinned.push({ name: fault.name, open: fault.open === true, target, ...pin(fault, source) });
  }
  const scripts = await texts(SCRIPTS);
  for (const fault of luaFaults) {
    const target: Target = { name: "scripts", source: SCRIPTS, stages: [fault.stage] };
    pinned.push({ name: fault.name, open: fault.open === true, target, ...pinLua(fault, scripts) });
  }
  return pinned;
}

/** Tries all faults, and gives whether each of them was noticed. */
export async function tryPinned(campaign: Campaign): Promise<boolean> {
  const pinned = await pinAll();
  await campaign.prepare(pinned.map(({ target }) => target));
  let missed = 0;
  await campaign.each(pinned, async ({ name, open, target, path, change }, workshop) => {
    const changes = await changesOf(path, applied(await workshop.read(path), change));
    const outcome = await workshop.with(changes, () => campaign.attempt(target, workshop));
    const noticed = outcome !== "survived";
    if (!noticed && !open) missed++;
    const note = !open ? "" : noticed ? ": take out `open`" : ", as before";
    console.log(`${noticed ? "noticed  " : "SURVIVED "} ${target.name}: ${name}${note}`);
  });
  return missed === 0;
}
