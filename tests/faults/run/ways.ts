import { TcpProxy } from "../../support/tcp_proxy.ts";
import type { Deployment } from "./deployment.ts";
import type { Target } from "./work.ts";

/** The ways of one process to the servers, on which faults can happen that other processes do not notice. */
export class Ways implements AsyncDisposable {
  /** One to each server, in the order of the deployment. */
  readonly proxies: readonly TcpProxy[];
  /** What the clients of the process connect to. */
  readonly target: Target;

  private constructor(proxies: readonly TcpProxy[], target: Target) {
    this.proxies = proxies;
    this.target = target;
  }

  /** Opens the ways to a deployment. They lead through the ways that all processes share. */
  static async open(deployment: Pick<Deployment, "proxies" | "target">): Promise<Ways> {
    await using stack = new AsyncDisposableStack();
    const proxies = await Promise.all(
      deployment.proxies.map(async ({ port }) => stack.use(await TcpProxy.start(port))),
    );
    stack.move();
    return new Ways(proxies, deployment.target(proxies.map(({ port }) => port)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
  }
}
