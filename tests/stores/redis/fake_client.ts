import { EventEmitter } from "node:events";
import type { IoredisClient, RedisSubscriber } from "../../../src/stores/redis/clients/client.ts";

/** A script that a fake client was asked to run. */
export interface ScriptCall {
  /** The SHA-1 of the script or, of an `eval`, its text. */
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** An error as ioredis makes one of a refusal of the server. */
export function replyError(words: string): Error {
  return Object.assign(new Error(words), { name: "ReplyError" });
}

/** A second connection that does only what a test has it do. */
export class FakeSubscriber extends EventEmitter {
  /** What it is a connection to. */
  readonly of: string;
  status: string | undefined = "connecting";
  /** The subscriptions that were sent, with the means to answer them. */
  readonly sent: ({ readonly channels: readonly string[] } & PromiseWithResolvers<unknown>)[] = [];
  disconnected = 0;

  constructor(of: string) {
    super();
    this.of = of;
  }

  subscribe(...channels: string[]): Promise<unknown> {
    const subscription = { channels, ...Promise.withResolvers<unknown>() };
    this.sent.push(subscription);
    return subscription.promise;
  }

  disconnect(): void {
    this.disconnected++;
    this.end();
  }

  /** Ends the connection, as when the server has closed it. */
  end(): void {
    this.status = "end";
    this.emit("end");
  }
}

/** A client of ioredis's shape without a server: it answers as it is told, and its second connections are fakes. */
export class FakeClient extends EventEmitter {
  status = "ready";
  isCluster = false;
  options: IoredisClient["options"] = undefined;
  /** What is sent. */
  readonly calls: ScriptCall[] = [];
  readonly subscribers: FakeSubscriber[] = [];
  readonly #answer: (call: ScriptCall, index: number) => unknown;

  /** `answer` gives the reply to each script, or throws the error. */
  constructor(answer: (call: ScriptCall, index: number) => unknown = () => "1") {
    super();
    this.#answer = answer;
    // Like most users; without a listener errors are printed.
    this.on("error", () => {});
  }

  /** As the type that stores take. */
  get client(): IoredisClient {
    return this as unknown as IoredisClient;
  }

  /** The second connection that was made last. */
  get subscriber(): FakeSubscriber {
    return this.subscribers.at(-1)!;
  }

  async evalsha(script: string, numberOfKeys: number, ...rest: string[]): Promise<unknown> {
    const call = { script, keys: rest.slice(0, numberOfKeys), args: rest.slice(numberOfKeys) };
    this.calls.push(call);
    return await this.#answer(call, this.calls.length - 1);
  }

  eval(script: string, numberOfKeys: number, ...rest: string[]): Promise<unknown> {
    return this.evalsha(script, numberOfKeys, ...rest);
  }

  duplicate(): RedisSubscriber {
    return this.made("client");
  }

  /** Makes a second connection to a node. */
  made(of: string): RedisSubscriber {
    const subscriber = new FakeSubscriber(of);
    this.subscribers.push(subscriber);
    return subscriber as unknown as RedisSubscriber;
  }
}
