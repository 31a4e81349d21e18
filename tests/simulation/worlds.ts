import { UNTAKEN as UNTAKEN_OF_ENGINE } from "./cas/untaken.ts";
import type { HandoffName, Theme } from "./handoff/scenario.ts";
import { UNTAKEN as UNTAKEN_OF_HANDOFF } from "./handoff/untaken.ts";
import type { Branches, Untaken } from "./kernel/branches.ts";
import type { Play } from "./kernel/runs.ts";
import type { WorldName } from "./options.ts";
import { UNTAKEN as UNTAKEN_OF_REDLOCK } from "./redlock/untaken.ts";

/** Which runs of a world are wanted. */
export interface Wanted {
  readonly handoff?: HandoffName | undefined;
  readonly theme?: Theme | undefined;
}

interface VirtualWorld {
  /** Loads it. With `branches`, those of the code under test are counted. */
  readonly load: (branches?: Branches, wanted?: Wanted) => Promise<Play>;
  /** The branches that no seed takes, where they are counted. */
  readonly untaken: Untaken;
}

/** All worlds. Each is loaded when it is played. */
export const WORLDS: Readonly<Record<WorldName, VirtualWorld>> = {
  redlock: {
    load: async (branches) => {
      const { simulate } = await import("./redlock/simulate.ts");
      const { countedRedlock } = await import("./redlock/redlock.ts");
      const redlock = branches && await countedRedlock(branches);
      return (seed, log) => simulate(seed, { log, redlock });
    },
    untaken: UNTAKEN_OF_REDLOCK,
  },
  cas: {
    load: async (branches) => {
      const { simulate } = await import("./cas/simulate.ts");
      const { countedEngine } = await import("./cas/engine.ts");
      const engine = branches && await countedEngine(branches);
      return (seed, log) => simulate(seed, { log, engine });
    },
    untaken: UNTAKEN_OF_ENGINE,
  },
  handoff: {
    load: async (branches, { handoff, theme } = {}) => {
      const { play } = await import("./handoff/play.ts");
      const { countedMechanism } = await import("./handoff/stores.ts");
      const mechanism = branches && await countedMechanism(branches);
      return (seed, log) => play(seed, { handoff, theme, log, mechanism });
    },
    untaken: UNTAKEN_OF_HANDOFF,
  },
  timers: {
    load: async () => (await import("./timers/model.ts")).play,
    untaken: {},
  },
};
