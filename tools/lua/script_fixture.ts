import type { Command } from "../../src/stores/redis/commands/command.ts";
import { lockKeys } from "../../src/stores/redis/keys/keys.ts";
import { ScriptServer } from "./server.ts";

/** When a fixture begins, in milliseconds since 1970. */
export const START = 1_700_000_000_000;

/** A server in memory, whose clock stands still until a test moves it, and the messages that its scripts have sent. */
export class ScriptFixture {
  /** Milliseconds since the start. */
  ms = 0;
  readonly messages: string[] = [];
  /** The channels on which nobody listens. */
  readonly deaf = new Set<string>();
  readonly server = new ScriptServer(() => (START + this.ms) * 1_000, (channel, message) => {
    this.messages.push(message);
    return this.deaf.has(channel) ? 0 : 1;
  });

  /** Runs a command for the lock "a". */
  run<Input, Reply>(command: Command<Input, Reply>, input: Input): Reply {
    const { keys, args } = command.encode(lockKeys("lock:a"), input);
    return command.decode(this.server.eval(command.script.source, keys, args), input);
  }

  /** Returns the messages that were sent since the last call. */
  sent(): string[] {
    return this.messages.splice(0);
  }
}
